"""The shipped evaluation set: large, balanced, hard for a substring search, and every judgement points somewhere."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path

import pytest

import core.evalset
from core.errors import MemdeckError
from core.evalset import CLASSES, FOLDER, JudgedQuery, Target, copy_to, load
from core.index.chunker import chunk_markdown
from core.index.grams import UNSPACED_RUN
from core.rust_text import lower
from core.search.query import extract_keywords
from core.search.trust import marks_of
from core.store.layout import is_scaffold

SET = load()
MEMORY = FOLDER / "memory"
LOG = re.compile(r"(\d{4}-\d{2}-\d{2})-[a-z0-9-]+-[0-9a-f]{8}\.md")
FILES = {str(path.relative_to(MEMORY)): path.read_text(encoding="utf-8") for path in MEMORY.rglob("*.md")}
CHUNKS = {path: [chunk.text for chunk in chunk_markdown(text)] for path, text in FILES.items()}

Place = tuple[str, int]
every_query = pytest.mark.parametrize("query", SET.queries, ids=lambda query: query.id)


def place(target: Target) -> Place:
    """Path and ordinal of the one chunk that holds the target's phrase."""
    (ordinal,) = (number for number, text in enumerate(CHUNKS[target.path]) if target.text in text)
    return target.path, ordinal


def day_asked(query: JudgedQuery) -> str:
    return datetime.fromtimestamp(SET.asked_at(query), UTC).date().isoformat()


def day_of(path: str) -> str:
    """The day of a log; curated files are rewritten all the time, so they count as the newest."""
    match = LOG.fullmatch(path.rsplit("/", 1)[-1])
    return match[1] if match else max(m[1] for name in FILES if (m := LOG.search(name)))


def shares_a_word(query: JudgedQuery) -> bool:
    words = set(extract_keywords(query.text))
    return any(words & set(extract_keywords(CHUNKS[path][n])) for path, n in map(place, query.find))


@cache
def grep(text: str, first: int) -> list[Place]:
    """Chunks by how many of the query's words they contain as substrings, the newest first among equals."""
    words = extract_keywords(text)
    found = [
        (sum(word in lower(chunk) for word in words), day_of(path), path, number)
        for path, chunks in CHUNKS.items()
        for number, chunk in enumerate(chunks)
    ]
    found = sorted((row for row in found if row[0]), key=lambda row: row[:2], reverse=True)
    return [(path, number) for _, _, path, number in found[:first]]


# The memory


def test_the_memory_is_one_workspace_of_many_well_named_logs() -> None:
    assert len(FILES) >= 60
    assert [entry.name for entry in MEMORY.iterdir() if entry.is_dir()] == [SET.workspace]
    logs = [path.name for path in (MEMORY / SET.workspace / "sessions").iterdir()]
    assert all(LOG.fullmatch(name) for name in logs)
    assert len({name[-11:-3] for name in logs}) == len(logs)
    newest = date.fromisoformat(max(name[:10] for name in logs))
    assert 0 <= (datetime.fromtimestamp(SET.now, UTC).date() - newest).days <= 1
    assert {"MEMORY.md", f"{SET.workspace}/MEMORY.md"} == {
        path for path in FILES if path.endswith("MEMORY.md")
    }


def test_every_file_is_real_content_and_some_are_long() -> None:
    for path, text in FILES.items():
        assert "#" in text and len(text) > 150 and not is_scaffold(text), path
    assert len(CHUNKS[f"{SET.workspace}/MEMORY.md"]) >= 20
    assert sum(len(chunks) > 1 for chunks in CHUNKS.values()) >= 8
    assert sum("<!-- flush " in text for text in FILES.values()) >= 8


# The queries


def test_there_are_enough_of_every_class_in_balanced_halves() -> None:
    assert len(SET.queries) >= 150
    count = Counter((query.cls, query.half) for query in SET.queries)
    for cls in CLASSES:
        tuning, held_out = count[cls, "tuning"], count[cls, "held-out"]
        assert tuning + held_out >= 10
        assert abs(tuning - held_out) <= 1, cls


def test_no_query_is_asked_twice() -> None:
    texts = Counter(" ".join(query.text.casefold().split()) for query in SET.queries)
    assert [text for text, count in texts.items() if count > 1] == []


@every_query
def test_each_phrase_marks_one_chunk_and_is_not_given_away(query: JudgedQuery) -> None:
    for target in (*query.find, *query.avoid):
        assert FILES[target.path].count(target.text) == 1, target
        assert sum(target.text in chunk for chunk in CHUNKS[target.path]) == 1, target
        assert target.text.casefold() not in query.text.casefold()
    wanted = [place(target) for target in query.find]
    assert len(set(wanted)) == len(wanted)
    assert not set(wanted) & {place(target) for target in query.avoid}
    if query.cls == "multi":
        assert len(wanted) >= 2


@every_query
def test_each_answer_is_known_and_in_force_when_asked(query: JudgedQuery) -> None:
    today = day_asked(query)
    for target in query.find:
        path, number = place(target)
        if LOG.search(path):
            assert day_of(path) <= today
        for mark in marks_of(CHUNKS[path][number]):
            assert mark.state != "superseded" or (mark.until is not None and today < mark.until), target


@every_query
def test_what_must_not_be_found_is_marked_in_the_memory_itself(query: JudgedQuery) -> None:
    """A ranking can be held to a judgement only if the files say that the text is out of date."""
    for target in query.avoid:
        path, number = place(target)
        (mark,) = marks_of(CHUNKS[path][number])
        assert mark.state == "superseded" and mark.until is not None and mark.until <= day_asked(query)
    if query.cls == "correction":
        assert query.avoid


def test_unspaced_scripts_include_thai() -> None:
    cjk = [query for query in SET.queries if query.cls == "cjk"]
    assert all(UNSPACED_RUN.search(query.text) for query in cjk)
    assert sum(bool(re.search("[\u0e00-\u0e7f]", query.text)) for query in cjk) >= 5
    assert sum(bool(re.search("[\u3040-\u9fff]", query.text)) for query in cjk) >= 10


def test_two_in_five_queries_share_no_content_word_with_what_they_seek() -> None:
    strangers = sum(not shares_a_word(query) for query in SET.queries)
    assert strangers / len(SET.queries) >= 0.40
    assert not any(shares_a_word(query) for query in SET.queries if query.cls == "paraphrase")


@pytest.mark.parametrize("half", ["tuning", "held-out", "both"])
def test_a_substring_search_is_not_enough(half: str) -> None:
    recalls = []
    for query in SET.queries:
        if half in (query.half, "both"):
            wanted = {place(target) for target in query.find}
            recalls.append(len(wanted & set(grep(query.text, 5))) / len(wanted))
    assert sum(recalls) / len(recalls) <= 0.60


def test_grep_finds_what_it_should() -> None:
    """The bar above means something only if the arm works: plain keywords and error texts it must find."""
    easy = [query for query in SET.queries if query.cls in ("keyword", "error")]
    found = [any(place(target) in grep(query.text, 5) for target in query.find) for query in easy]
    assert sum(found) / len(found) >= 0.9


# Reading and copying


def test_asked_at_is_noon_of_as_of_or_now() -> None:
    past = next(query for query in SET.queries if query.as_of == "2026-02-01")
    assert SET.asked_at(past) == datetime(2026, 2, 1, 12, tzinfo=UTC).timestamp()
    assert SET.asked_at(SET.queries[0]) == SET.now == datetime(2026, 6, 28, 9, tzinfo=UTC).timestamp()


def test_a_copy_has_the_bytes_and_the_age_its_names_promise(tmp_path: Path) -> None:
    copy_to(tmp_path / "memory")
    copied = {str(p.relative_to(tmp_path / "memory")): p for p in (tmp_path / "memory").rglob("*.md")}
    assert {name: path.read_text(encoding="utf-8") for name, path in copied.items()} == FILES
    for name, path in copied.items():
        noon = datetime.fromisoformat(f"{day_of(name)}T12:00:00+00:00").timestamp()
        assert path.stat().st_mtime == noon <= SET.now


def test_a_copy_never_writes_into_a_folder_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "mine.md").write_text("keep", encoding="utf-8")
    with pytest.raises(MemdeckError, match=re.escape(str(tmp_path))) as caught:
        copy_to(tmp_path)
    assert caught.value.hint
    assert [path.name for path in tmp_path.iterdir()] == ["mine.md"]


GOOD = 'id = "q7"\nclass = "time"\nhalf = "tuning"\ntext = "t"\nfind = [{path = "a.md", text = "b"}]\n'


def write_set(folder: Path, monkeypatch: pytest.MonkeyPatch, queries: str) -> None:
    (folder / "memory" / "one-00000000").mkdir(parents=True)
    (folder / "queries.toml").write_text(queries, encoding="utf-8")
    monkeypatch.setattr(core.evalset, "FOLDER", folder)


def test_all_fields_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = 'avoid = [{path = "c.md", text = "d", grade = 3}]\nas_of = "2026-01-02"\nnote = "n"\n'
    write_set(tmp_path, monkeypatch, f"now = 5\n[[query]]\n{GOOD}{more}")
    (query,) = load().queries
    assert (load().now, load().workspace) == (5.0, "one-00000000")
    expected = JudgedQuery(
        "q7", "time", "tuning", "t", (Target("a.md", "b"),), (Target("c.md", "d", 3),), "2026-01-02"
    )
    assert query == expected


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ('class = "time"', 'class = "poem"'),
        ('half = "tuning"', 'half = "third"'),
        ('half = "tuning"', "half = []"),
        ('text = "t"', 'text = ""'),
        ('text = "t"', "text = 3"),
        ('text = "t"', 'text = "t"\nas_off = "2026-01-01"'),
        ('text = "t"', 'text = "t"\nas_of = "2026-02-30"'),
        ('text = "t"', 'text = "t"\nas_of = "20260201"'),
        ('text = "t"\n', ""),
        ('[{path = "a.md", text = "b"}]', "[]"),
        ('[{path = "a.md", text = "b"}]', '"a.md"'),
        ('path = "a.md"', "path = 1"),
        ('text = "b"', 'text = "b", grade = 4'),
        ('text = "b"', 'text = "b", rank = 1'),
        ("find", 'avoid = ["a.md"]\nfind'),
    ],
)
def test_a_wrong_entry_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, good: str, bad: str) -> None:
    assert good in GOOD
    write_set(tmp_path, monkeypatch, "now = 5\n[[query]]\n" + GOOD.replace(good, bad))
    with pytest.raises(MemdeckError, match="query q7"):
        load()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"now = 5\n[[query]]\n{GOOD}[[query]]\n{GOOD}", "q7 stands twice"),
        (f"now = 5\n[[query]]\n{GOOD}[[query]]\ntext = 'x'\n", "query number 2"),
        (f"[[query]]\n{GOOD}", "needs now"),
        ("now = 5\nquery = [1]\n", "query number 1"),
        ("now = \n", "cannot be read"),
    ],
)
def test_a_damaged_set_says_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, says: str
) -> None:
    write_set(tmp_path, monkeypatch, text)
    with pytest.raises(MemdeckError, match=says) as caught:
        load()
    assert caught.value.hint and caught.value.data
