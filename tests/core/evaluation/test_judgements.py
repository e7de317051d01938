"""A person's file of judgements: rows judged good or bad and back, comments kept, nothing lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import MemdeckError, UsageError
from core.evaluation.judged import Target
from core.evaluation.judgements import Judgements, default_file, distinctive_line
from core.search.report import Also

ROOT = "/home/mona/.grok/memory"
HIT = Also(
    id=f"{ROOT}/w/MEMORY.md:3",
    path=f"{ROOT}/w/MEMORY.md",
    start_line=24,
    end_line=27,
    source="workspace",
    heading="Auth",
    snippet='[Context: # Widgets]\n\n### Auth with a heading that is long enough to be tempting\n- short\n- the "longest" line \\ of it\n',
    created_at=1,
    access_count=0,
    matched_by="words",
)
OTHER = replace(HIT, id=f"{ROOT}/w/sessions/a.md:0", path=f"{ROOT}/w/sessions/a.md", snippet="only line\n")


@pytest.fixture
def empty(tmp_path: Path) -> Judgements:
    return Judgements.load(tmp_path / "judgements" / "w.toml")


def test_a_file_that_is_not_there_is_made_on_save(empty: Judgements) -> None:
    assert (empty.queries, empty.old) == ((), None)
    saved = empty.with_judged("token", HIT, True, root=ROOT).save()
    again = Judgements.load(empty.path)
    assert again == saved
    (query,) = again.queries
    assert query.text == "token"
    assert query.find == (Target("w/MEMORY.md", '- the "longest" line \\ of it'),)
    assert empty.path.read_text(encoding="utf-8").startswith("# Judged queries")
    assert empty.path.stat().st_mode & 0o777 == 0o600


def test_good_bad_and_back(empty: Judgements) -> None:
    good = empty.with_judged("token", HIT, True, root=ROOT).with_judged("token", OTHER, True, root=ROOT)
    assert (good.judged("token", HIT, root=ROOT), good.judged("other", HIT, root=ROOT)) == (True, None)
    assert good.with_judged("token", HIT, True, root=ROOT).queries[0].find == tuple(
        reversed(good.queries[0].find)
    ), "judging again says it once"
    bad = good.with_judged("token", HIT, False, root=ROOT)
    assert bad.judged("token", HIT, root=ROOT) is False
    assert (len(bad.queries[0].find), len(bad.queries[0].avoid)) == (1, 1)
    none = bad.with_judged("token", HIT, None, root=ROOT).with_judged("token", OTHER, None, root=ROOT)
    assert none.queries == ()
    assert none.with_judged("never judged", HIT, None, root=ROOT).queries == ()


WRITTEN = """\
# mine
now = 2026-06-28  # fixed

# about tokens
[[query]]
text = "token"  # asked often
find = [
  { path = "w/sessions/a.md", text = "only line", grade = 2 },  # because
  { id = "w/MEMORY.md#3" },
]

# about deploys
[[query]]
text = "deploy"
[[query.avoid]]
path = "old.md"  # gone soon
text = "friday"
"""


def test_comments_and_layout_stay(empty: Judgements) -> None:
    empty.path.parent.mkdir()
    empty.path.write_text(WRITTEN, encoding="utf-8")
    before = Judgements.load(empty.path)
    assert before.judged("token", HIT, root=ROOT) is True, "by its number"
    after = (
        before.with_judged("token", HIT, None, root=ROOT).with_judged("deploy", HIT, False, root=ROOT).save()
    )
    assert [line for line in WRITTEN.splitlines() if line not in after.text.splitlines()] == [
        '  { id = "w/MEMORY.md#3" },'
    ]
    token, deploy = after.queries
    assert token.find == (Target("w/sessions/a.md", "only line", 2),)
    assert [target.path for target in deploy.avoid] == ["old.md", "w/MEMORY.md"]


def test_what_was_asked_about_another_day_is_another_query(empty: Judgements) -> None:
    text = '[[query]]\ntext = "token"\nas_of = "2026-01-01"\nfind = [{id = "w/MEMORY.md#3"}]\n'
    empty.path.parent.mkdir()
    empty.path.write_text(text, encoding="utf-8")
    before = Judgements.load(empty.path)
    assert before.judged("token", HIT, root=ROOT) is None
    after = before.with_judged("token", HIT, False, root=ROOT)
    assert [query.as_of for query in after.queries] == ["2026-01-01", None]
    assert after.with_judged("token", HIT, None, root=ROOT).queries == before.queries


def test_a_path_outside_the_root_stays_absolute(empty: Judgements) -> None:
    away = replace(HIT, path="/agents/reviewer/MEMORY.md", id="/agents/reviewer/MEMORY.md:0")
    judged = empty.with_judged("token", away, True, root=ROOT)
    assert judged.queries[0].find[0].path == "/agents/reviewer/MEMORY.md"
    assert judged.judged("token", away, root=ROOT) is True


def test_a_file_changed_meanwhile_is_not_overwritten(empty: Judgements) -> None:
    mine = empty.with_judged("token", HIT, True, root=ROOT)
    empty.path.parent.mkdir()
    empty.path.write_text(WRITTEN, encoding="utf-8")
    with pytest.raises(MemdeckError, match="changed since") as caught:
        mine.save()
    assert caught.value.data
    assert empty.path.read_text(encoding="utf-8") == WRITTEN


def test_a_linked_file_is_written_where_it_lies(empty: Judgements, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text(WRITTEN, encoding="utf-8")
    empty.path.parent.mkdir()
    empty.path.symlink_to(real)
    Judgements.load(empty.path).with_judged("token", HIT, None, root=ROOT).save()
    assert empty.path.is_symlink()
    assert "MEMORY.md#3" not in real.read_text(encoding="utf-8")


@pytest.mark.parametrize("content", [b"\xff\xfe", b"[[query]]\ntext = 3\n"], ids=["not UTF-8", "wrong"])
def test_a_file_that_cannot_be_used_is_named(empty: Judgements, content: bytes) -> None:
    empty.path.parent.mkdir()
    empty.path.write_bytes(content)
    with pytest.raises(MemdeckError) as caught:
        Judgements.load(empty.path)
    assert str(empty.path) in str(caught.value)
    assert empty.path.read_bytes() == content


def test_a_folder_in_its_place_is_named(empty: Judgements) -> None:
    empty.path.mkdir(parents=True)
    with pytest.raises(MemdeckError, match="not a file"):
        Judgements.load(empty.path)


def test_one_that_nothing_can_be_known_by_is_refused(empty: Judgements) -> None:
    with pytest.raises(UsageError):
        empty.with_judged("token", replace(HIT, snippet=" \n"), True, root=ROOT)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("# Heading that is long\nword\n", "word"),
        ("# Only a heading\n", "# Only a heading"),
        ("<!-- flush 2026-01-01 -->\n- fact\n", "- fact"),
        ("a" * 300, "a" * 120),
    ],
)
def test_the_line_a_chunk_is_known_by(text: str, line: str) -> None:
    assert distinctive_line(text) == line
    assert line in text


def test_where_they_lie() -> None:
    environ = {"HOME": "/home/mona", "MEMDECK_CONFIG": "/home/mona/deck/config.toml"}
    assert default_file(environ, "widgets-1") == Path("/home/mona/deck/judgements/widgets-1.toml")
    assert default_file(environ, "") == Path("/home/mona/deck/judgements/global.toml")
