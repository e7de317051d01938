"""Files of judgements written by hand: every key is read, and what is wrong is named with file, query and key."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

import core.evalset
from core.errors import UsageError
from core.evaluation.judged import HALVES, JudgedQuery, Target, parse

WHOLE = """
now = 2026-06-28  # asked on this day

[[query]]
id = "floor"
class = "time"
half = "held-out"
text = "token lifetime"
scope = "session"
as_of = 2026-05-01
note = "changed in June"
find = [
  { path = "w/MEMORY.md", text = "15 minutes", grade = 3 },  # the answer
  { id = "w/sessions/a.md#2" },
]
avoid = [{ path = "w/MEMORY.md", text = "an hour" }]
"""


def test_every_key_is_read() -> None:
    now, queries = parse(WHOLE, "mine.toml")
    assert now == datetime(2026, 6, 28, 12, tzinfo=UTC).timestamp()
    assert queries == (
        JudgedQuery(
            id="floor",
            cls="time",
            half="held-out",
            text="token lifetime",
            find=(Target("w/MEMORY.md", "15 minutes", 3), Target("w/sessions/a.md", "", 1, 2)),
            avoid=(Target("w/MEMORY.md", "an hour"),),
            as_of="2026-05-01",
            scope="session",
        ),
    )
    assert queries[0].asked_at(5.0) == datetime(2026, 5, 1, 12, tzinfo=UTC).timestamp()


def test_text_and_one_chunk_are_enough() -> None:
    now, (query,) = parse('[[query]]\ntext = "x"\navoid = [{id = "a.md:0"}]\n', "mine.toml")
    assert now is None
    assert (query.id, query.cls, query.scope, query.find) == ("#1", "other", "agent", ())
    assert query.avoid == (Target("a.md", "", 1, 0),)
    assert query.asked_at(5.0) == 5.0


def test_a_query_keeps_its_half_when_others_come_and_go() -> None:
    def halves(words: list[str]) -> dict[str, str]:
        text = "".join(f'[[query]]\ntext = "{word}"\nfind = [{{id = "a.md#0"}}]\n' for word in words)
        return {query.text: query.half for query in parse(text, "f")[1]}

    words = [f"word {number}" for number in range(40)]
    all_ = halves(words)
    assert set(all_.values()) == set(HALVES)
    assert halves(words[7:]) == {word: all_[word] for word in words[7:]}


def test_the_shipped_file_is_read_by_the_same_loader() -> None:
    shipped = core.evalset.load()
    text = (core.evalset.FOLDER / "queries.toml").read_text(encoding="utf-8")
    assert parse(text, "queries.toml") == (shipped.now, shipped.queries)


GOOD = '[[query]]\nid = "q7"\ntext = "t"\nfind = [{path = "a.md", text = "b"}]\n'


@pytest.mark.parametrize(
    ("good", "bad", "says"),
    [
        ('text = "t"', 'text = ""', "mine.toml: query q7: text"),
        ('text = "t"\n', "", "query q7: text is missing"),
        ('text = "t"', 'text = "t"\nas_off = "2026-01-01"', "as_off is not a key; did you mean as_of"),
        ('text = "t"', 'text = "t"\nas_of = "2026-02-30"', "query q7: as_of is '2026-02-30'"),
        ('text = "t"', 'text = "t"\nas_of = 2026-02-03T10:00:00', "as_of is"),
        ('text = "t"', 'text = "t"\nscope = "all"', "scope is 'all', not one of agent, everywhere"),
        ('text = "t"', 'text = "t"\nhalf = "third"', "half is 'third'"),
        ('text = "t"', 'text = "t"\nclass = 3', "class must be a text"),
        ('[{path = "a.md", text = "b"}]', "[]", "find and avoid are both empty"),
        ('[{path = "a.md", text = "b"}]', '"a.md"', "find must be a list"),
        ('{path = "a.md", text = "b"}', '"a.md"', "find each entry is a table"),
        ('text = "b"', 'text = "b", grade = 4', "grade is 4"),
        ('text = "b"', 'text = "b", grade = true', "grade is True"),
        ('text = "b"', 'text = "b", rank = 1', "rank is not a key"),
        ('text = "b"', 'text = "b", id = "a.md#1"', "needs path and text, or id alone"),
        (', text = "b"', "", "needs path and text, or id alone"),
        ('path = "a.md", text = "b"', 'id = "a.md"', "id is 'a.md', not a chunk such as"),
        ("[[query]]", "nw = 5\n[[query]]", "mine.toml: nw is not a key; did you mean now"),
        ("[[query]]", "now = true\n[[query]]", "now must be unix seconds"),
        ("[[query]]", "now = nan\n[[query]]", "now must be unix seconds"),
        ("[[query]]", "now = 1e300\n[[query]]", "now must be unix seconds"),
        ("[[query]]", "[query]", "query is not a list"),
        ("[[query]]", "[[query", "is not valid TOML"),
        (GOOD, GOOD + GOOD, "q7 stands twice"),
        (GOOD, "query = [1]", "query number 1: is not a table"),
    ],
)
def test_what_is_wrong_is_named(good: str, bad: str, says: str) -> None:
    assert good in GOOD
    with pytest.raises(UsageError) as caught:
        parse(GOOD.replace(good, bad), "mine.toml")
    assert says.replace("find each", "find: each") in str(caught.value)
    assert str(caught.value).startswith("mine.toml")
    assert caught.value.hint


def test_docs_show_a_file_that_can_be_read() -> None:
    """The example in the documentation is itself a file of judgements."""
    docs = (Path(__file__).parents[3] / "docs" / "evaluation.md").read_text(encoding="utf-8")
    example = docs.partition("```toml\n")[2].partition("```")[0]
    _, queries = parse(example, "docs")
    assert {query.scope for query in queries} == {"agent", "session"}
    assert any(query.as_of for query in queries) and any(query.avoid for query in queries)
