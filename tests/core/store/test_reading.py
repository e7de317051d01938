"""Reads stay inside the root, never wait, and say what they could not show."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from core.errors import NotFound, OutsideRoot, UnreadableFile, UsageError
from core.store import reading
from core.store.layout import Root, open_root
from core.store.reading import decode, read_bytes, read_head, read_text, resolve

WS = "widgets-a3f7b2c9"


def test_a_path_is_absolute_or_below_the_workspace_or_below_the_root(root: Root) -> None:
    log = "sessions/2025-12-01-auth-00000001.md"
    assert resolve(root, WS, "MEMORY.md").path == f"{root.path}/{WS}/MEMORY.md"
    assert resolve(root, "", "MEMORY.md").path == f"{root.path}/MEMORY.md"
    assert resolve(root, WS, log).path == f"{root.path}/{WS}/{log}"
    assert resolve(root, WS, f"{WS}/{log}").path == f"{root.path}/{WS}/{log}"
    assert resolve(root, WS, "../MEMORY.md").path == f"{root.path}/MEMORY.md"
    assert resolve(root, "", f"{root.path}/{WS}/./MEMORY.md").path == f"{root.path}/{WS}/MEMORY.md"


def test_every_spelling_of_the_root_gives_its_own(memory: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(memory)
    (tmp_path / "other").symlink_to(tmp_path / "grok")
    root = open_root(str(tmp_path / "alias"))
    for spelling in (f"{memory.resolve()}/MEMORY.md", f"{tmp_path}/other/memory/MEMORY.md"):
        assert resolve(root, "", spelling).path == f"{root.path}/MEMORY.md"


def test_an_absolute_link_elsewhere_into_the_memory_is_that_file(
    root: Root, memory: Path, tmp_path: Path
) -> None:
    (tmp_path / "shortcut.md").symlink_to(memory / "MEMORY.md")
    assert resolve(root, "", str(tmp_path / "shortcut.md")).path == f"{root.path}/MEMORY.md"


@pytest.mark.parametrize("path", ["/etc/hostname", "../../secret.md", "sessions/../../../secret.md", "/"])
def test_nothing_outside_the_root_is_read(root: Root, memory: Path, path: str) -> None:
    (memory.parent / "secret.md").write_text("x")
    with pytest.raises(OutsideRoot):
        resolve(root, WS, path)


def test_a_sibling_with_the_roots_name_as_prefix_is_outside(root: Root, memory: Path) -> None:
    (memory.parent / "memory2").mkdir()
    (memory.parent / "memory2" / "MEMORY.md").write_text("x")
    with pytest.raises(OutsideRoot):
        resolve(root, "", f"{root.path}2/MEMORY.md")


@pytest.mark.parametrize("path", ["none.md", "sessions/none.md", "bad\udcff\x1b.md"])
def test_what_is_not_there_is_not_found(root: Root, path: str) -> None:
    with pytest.raises(NotFound) as caught:
        resolve(root, WS, path)
    str(caught.value).encode()


@pytest.mark.parametrize("path", ["", "a\0b"])
def test_no_path_at_all(root: Root, path: str) -> None:
    with pytest.raises(UsageError):
        resolve(root, WS, path)


def test_a_listed_link_may_lead_outside_but_not_for_an_agent(
    root: Root, memory: Path, tmp_path: Path
) -> None:
    (tmp_path / "far.md").write_text("far\n")
    link = memory / WS / "sessions" / "2025-01-01-far-1.md"
    link.symlink_to(tmp_path / "far.md")
    found = resolve(root, WS, "sessions/2025-01-01-far-1.md")
    assert (found.outside, found.link_target) == (True, str((tmp_path / "far.md").resolve()))
    text = read_text(found)
    assert text.lines == ("far",)
    assert text.problem is not None
    assert text.problem.kind == "outside-root"
    with pytest.raises(OutsideRoot):
        resolve(root, WS, str(link), listed_links=False)


def test_links_that_no_listing_shows_may_not_lead_outside(root: Root, memory: Path, tmp_path: Path) -> None:
    (tmp_path / "far.md").write_text("far\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "MEMORY.md").write_text("far\n")
    (memory / WS / "notes.md").symlink_to(tmp_path / "far.md")
    (memory / "linked-12345678").symlink_to(tmp_path / "folder")
    (memory / WS / "sessions" / "deep").mkdir()
    (memory / WS / "sessions" / "deep" / "MEMORY.md").symlink_to(tmp_path / "far.md")
    for path in ("notes.md", f"{root.path}/linked-12345678/MEMORY.md", "sessions/deep/MEMORY.md"):
        with pytest.raises(OutsideRoot):
            resolve(root, WS, path)


def test_a_link_inside_names_its_target_without_complaint(root: Root, memory: Path) -> None:
    (memory / WS / "sessions" / "l.md").symlink_to(memory / "MEMORY.md")
    text = read_text(resolve(root, WS, "sessions/l.md"))
    assert (text.link_target, text.problem) == (str((memory / "MEMORY.md").resolve()), None)


def test_broken_links_folders_and_pipes_are_refused_with_the_reason(root: Root, memory: Path) -> None:
    sessions = memory / WS / "sessions"
    (sessions / "dangling.md").symlink_to("nowhere.md")
    (sessions / "loop.md").symlink_to("loop.md")
    os.mkfifo(sessions / "pipe.md")
    for name, words in {
        "sessions/dangling.md": "not there",
        "sessions/loop.md": "leads back",
        "sessions/pipe.md": "a FIFO",
        "sessions": "a folder",
    }.items():
        with pytest.raises(UnreadableFile, match=words):
            resolve(root, WS, name)


def test_a_file_that_became_a_pipe_is_not_waited_for(root: Root, memory: Path) -> None:
    found = resolve(root, "", "MEMORY.md")
    (memory / "MEMORY.md").unlink()
    os.mkfifo(memory / "MEMORY.md")
    with pytest.raises(UnreadableFile, match="FIFO"):
        read_bytes(found)
    assert read_head(found.path, 10) is None


def test_a_file_exchanged_for_a_link_is_not_followed(root: Root, memory: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    found = resolve(root, "", "MEMORY.md")
    (memory / "MEMORY.md").unlink()
    (memory / "MEMORY.md").symlink_to(tmp_path / "secret")
    with pytest.raises(UnreadableFile):
        read_bytes(found)


def test_a_folder_exchanged_for_a_link_is_noticed(root: Root, memory: Path, tmp_path: Path) -> None:
    found = resolve(root, WS, "MEMORY.md")
    (memory / WS).rename(tmp_path / "moved")
    (memory / WS).symlink_to(tmp_path / "moved")
    with pytest.raises(UnreadableFile, match="moved"):
        read_bytes(found)


def test_a_file_that_vanished_is_not_found(root: Root, memory: Path) -> None:
    found = resolve(root, "", "MEMORY.md")
    (memory / "MEMORY.md").unlink()
    with pytest.raises(NotFound, match="gone"):
        read_text(found)
    assert read_head(found.path, 10) is None


@pytest.mark.parametrize(
    ("number", "words"),
    [(errno.EACCES, "permission denied"), (errno.EIO, "input/output"), (errno.ENXIO, "not a file")],
)
def test_a_file_that_cannot_be_opened_says_why(
    root: Root, monkeypatch: pytest.MonkeyPatch, number: int, words: str
) -> None:
    found = resolve(root, "", "MEMORY.md")

    def refuse(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(reading.os, "open", refuse)
    with pytest.raises(UnreadableFile, match=words):
        read_text(found)


def test_a_disk_error_while_reading_says_so(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    found = resolve(root, "", "MEMORY.md")

    def fail(*_: object) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(reading.os, "read", fail)
    with pytest.raises(UnreadableFile, match="input/output"):
        read_text(found)
    assert read_head(found.path, 10) is None


def test_lines_are_one_based_and_end_at_line_feeds_only(root: Root, memory: Path) -> None:
    (memory / "MEMORY.md").write_bytes("a\r\nb\x0cc\u2028d\n\ne\r".encode())
    found = resolve(root, "", "MEMORY.md")
    text = read_text(found)
    assert text.lines == ("a", "b\x0cc\u2028d", "", "e\r")
    assert (text.first, text.total, text.truncated, text.problem) == (1, 4, False, None)
    assert read_text(found, 2, 2).lines == ("b\x0cc\u2028d", "")
    assert read_text(found, 4).lines == ("e\r",)
    assert read_text(found, 5).lines == ()
    assert read_text(found, 1, 0).lines == ()


@pytest.mark.parametrize(("first", "count"), [(0, None), (-1, 2), (1, -1)])
def test_lines_that_cannot_be_are_refused(root: Root, first: int, count: int | None) -> None:
    with pytest.raises(UsageError):
        read_text(resolve(root, "", "MEMORY.md"), first, count)


def test_bytes_that_are_not_utf8_are_replaced_and_named(root: Root, memory: Path) -> None:
    (memory / "MEMORY.md").write_bytes(b"ok\n\xff\xfe bad\n")
    text = read_text(resolve(root, "", "MEMORY.md"))
    assert text.lines == ("ok", "\ufffd\ufffd bad")
    assert text.problem is not None
    assert text.problem.kind == "not-utf8"


def test_a_file_above_the_limit_is_shown_in_part(root: Root, memory: Path) -> None:
    (memory / "MEMORY.md").write_bytes("äöü\n".encode() * 3)
    text = read_text(resolve(root, "", "MEMORY.md"), limit=10)
    assert text.lines == ("äöü", "ä")
    assert (text.truncated, text.size, text.total) == (True, 21, 2)
    assert text.problem is not None
    assert text.problem.kind == "too-large"
    assert "UTF-8" not in text.problem.message


def test_both_too_large_and_not_utf8_are_told(root: Root, memory: Path) -> None:
    (memory / "MEMORY.md").write_bytes(b"\xff" * 20)
    problem = read_text(resolve(root, "", "MEMORY.md"), limit=10).problem
    assert problem is not None
    assert (problem.kind, "UTF-8" in problem.message) == ("too-large", True)


def test_an_empty_file_has_no_lines(root: Root, memory: Path) -> None:
    (memory / "MEMORY.md").write_bytes(b"")
    text = read_text(resolve(root, "", "MEMORY.md"))
    assert (text.lines, text.total, text.size) == ((), 0, 0)


@pytest.mark.parametrize(
    ("data", "cut", "text", "replaced"),
    [
        (b"\xef\xbb\xbfbom", False, "\ufeffbom", False),
        ("é".encode()[:1], False, "\ufffd", True),
        ("é".encode()[:1], True, "", False),
        (b"\x00nul", False, "\x00nul", False),
        (b"\xed\xa0\x80", False, "\ufffd\ufffd\ufffd", True),
    ],
)
def test_decode(data: bytes, cut: bool, text: str, replaced: bool) -> None:
    assert decode(data, cut=cut) == (text, replaced)
