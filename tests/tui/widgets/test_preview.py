"""The preview: numbers, chunk borders, marks, wrapping, find, copy, the line a dream cuts at."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from textual.geometry import Offset
from textual.selection import Selection

from core.errors import UnreadableFile
from core.index.model import ChunkSpan
from core.store.model import FileText, Problem
from tui.widgets.document import CODE, COMMENT, HEADING, TEXT, lay_out, prepare_document
from tui.widgets.preview import PreviewPane, prepare_preview

PATH = "/r/widgets-a3f7b2c9/MEMORY.md"
NOTES = """\
# Widgets

## Auth
Access tokens rotate every 15 minutes, refresh tokens live for thirty days and are single use.

```sh
# no heading
```
<!-- a
comment -->
one `refresh` more
""".splitlines()


def file(lines: list[str] = NOTES, path: str = PATH, **changes: Any) -> FileText:
    fields: dict[str, Any] = {
        "path": path,
        "real": path,
        "first": 1,
        "lines": tuple(lines),
        "total": len(lines),
        "size": sum(len(line.encode("utf-8", "surrogatepass")) + 1 for line in lines),
        "mtime": 0.0,
    }
    return FileText(**(fields | changes))


def spans(*lines: tuple[int, int]) -> tuple[ChunkSpan, ...]:
    return tuple(ChunkSpan(f"{PATH}:{n}", n, a, b, 100, True) for n, (a, b) in enumerate(lines))


async def test_numbers_chunk_borders_and_wrapped_lines(look: SimpleNamespace) -> None:
    widget = PreviewPane()
    async with look.showing(widget, 55, 15):
        widget.show(
            prepare_preview(
                file(), spans((1, 2), (3, 10), (11, 11)), chunk=f"{PATH}:1", width=widget.line_width
            )
        )
        assert look.drawn(widget) == [
            "  1 ╭0 # Widgets",
            "  2 ╰",
            "  3 ┏1 ## Auth",
            "  4 ┃  Access tokens rotate every 15 minutes, refresh",
            "    ┃  tokens live for thirty days and are single use.",
            "  5 ┃",
            "  6 ┃  ```sh",
            "  7 ┃  # no heading",
            "  8 ┃  ```",
            "  9 ┃  <!-- a",
            " 10 ┗  comment -->",
            " 11 ╶2 one `refresh` more",
            "",
            "",
            "",
        ]


async def test_without_chunks_there_is_no_gutter_for_them(look: SimpleNamespace) -> None:
    widget = PreviewPane()
    async with look.showing(widget, 52, 3):
        widget.show(prepare_preview(file(), width=widget.line_width))
        assert look.drawn(widget)[0] == "  1 # Widgets"


async def test_the_selected_chunk_is_gone_to_and_wins_where_chunks_overlap(look: SimpleNamespace) -> None:
    lines = [f"line {number}" for number in range(1, 101)]
    chunks = spans((1, 60), (50, 100))
    widget = PreviewPane()
    async with look.showing(widget, 52, 6):
        widget.show(prepare_preview(file(lines), chunks, chunk=f"{PATH}:1", width=51))
        assert look.drawn(widget)[:4] == [
            "  48 │  line 48",
            "  49 │  line 49",
            "  50 ┏1 line 50",
            "  51 ┃  line 51",
        ]
        widget.select(f"{PATH}:0")
        assert look.drawn(widget)[:2] == ["   1 ┏0 line 1", "   2 ┃  line 2"]
        assert widget.document is not None
        widget.scroll_to_line(60)
        assert "  60 ┗  line 60" in look.drawn(widget)
        widget.show(prepare_preview(file(lines), chunks, chunk=f"{PATH}:0", width=51))
        assert "  60 ┗  line 60" in look.drawn(widget), "the same file and chunk stays where it is"
        widget.show(prepare_preview(file(lines), chunks, chunk=f"{PATH}:0", width=51), line=10)
        assert look.drawn(widget)[2] == "  10 ┃  line 10"


async def test_words_are_marked_and_markdown_is_told_apart(look: SimpleNamespace) -> None:
    widget = PreviewPane()
    async with look.showing(widget, 110, 15):
        widget.show(prepare_preview(file(), matched=("refresh",), width=widget.line_width))
        styled = [list(widget.render_line(y)) for y in range(11)]
    marked = [
        segment.text
        for line in styled
        for segment in line
        if segment.style is not None and segment.style.underline
    ]
    assert marked == ["refresh", "refresh"]
    assert any(
        segment.style is not None and segment.style.bold for segment in styled[0] if "Widgets" in segment.text
    )
    plain = next(segment for segment in styled[3] if segment.text.startswith("Access")).style
    code = next(segment for segment in styled[6] if segment.text.startswith("# no")).style
    assert plain is not None and code is not None and plain.color != code.color


def test_each_line_is_known_for_what_it_is() -> None:
    kinds = prepare_document(file()).kinds
    assert list(kinds) == [HEADING, TEXT, HEADING, TEXT, TEXT, CODE, CODE, CODE, COMMENT, COMMENT, TEXT]


async def test_the_line_a_dream_cuts_at_is_marked(look: SimpleNamespace) -> None:
    lines = ["x" * 99] * 200  # 100 bytes a line: the 160th ends the 16,000
    widget = PreviewPane()
    async with look.showing(widget, 120, 8):
        widget.show(prepare_preview(file(lines), width=widget.line_width), line=159)
        drawn = look.drawn(widget)
        assert drawn[3].startswith(" 160 xxx")
        assert drawn[4].startswith(
            "── the agent's next dream keeps nothing below this line (16,000 bytes) ──"
        )
        assert drawn[5].startswith(" 161 xxx")


@pytest.mark.parametrize(
    "text",
    [
        file(["x" * 99] * 160),
        file(["x" * 99] * 400, path="/r/w/sessions/2026-07-17-auth-1a2b3c4d.md"),
    ],
)
def test_no_such_line_where_nothing_is_lost(text: FileText) -> None:
    assert prepare_document(text).limit is None


def test_ends_of_two_bytes_count() -> None:
    lines = ["x" * 98] * 200
    assert prepare_document(file(lines, size=100 * 200)).limit == 159
    assert prepare_document(file(lines, size=99 * 200)).limit == 161


async def test_what_is_wrong_with_a_file_stands_above_it(look: SimpleNamespace) -> None:
    text = file(
        ["a"] * 3,
        total=900,
        truncated=True,
        link_target="/elsewhere/\x1bx.md",
        problem=Problem(PATH, "not-utf8", "Not UTF-8: some bytes are shown as �."),
    )
    widget = PreviewPane()
    async with look.showing(widget, 60, 8):
        widget.show(prepare_preview(text, width=widget.line_width))
        assert look.drawn(widget)[:4] == [
            " ! Not UTF-8: some bytes are shown as �.",
            " → a link to /elsewhere/␛x.md",
            " … lines 1–3 of 900 are shown",
            " 1 a",
        ]


@pytest.mark.parametrize("width", [8, 20, 31, 40, 41, 80, 200])
async def test_hostile_files_are_harmless_and_lines_exact_at_any_width(
    make: SimpleNamespace, look: SimpleNamespace, width: int
) -> None:
    lines = [
        make.hostile,
        "配置" * 200,
        "e\u0301" * 300,
        "👩\u200d💻" * 50,
        "\t\ttabs",
        "x" * 3000,
        "`" * 99,
        " " * 500,
    ]
    widget = PreviewPane()
    async with look.showing(widget, width, 60) as pilot:
        widget.show(
            prepare_preview(
                file(lines),
                spans((1, 4), (5, 8)),
                matched=("x", make.hostile),
                chunk=f"{PATH}:0",
                width=width - 1,
            )
        )
        widget.find("配置")
        await pilot.pause()
        for _ in range(8):
            look.drawn(widget)
            widget.action_page(1)


async def test_a_new_width_wraps_anew_and_keeps_the_place(look: SimpleNamespace) -> None:
    lines = [f"{number} " + "word " * 30 for number in range(200)]
    widget = PreviewPane()
    async with look.showing(widget, 100, 10) as pilot:
        widget.show(prepare_preview(file(lines), width=widget.line_width), line=103)
        assert look.drawn(widget)[0].startswith(" 101 100 word")
        await pilot.resize_terminal(50, 10)
        await pilot.pause()
        assert look.drawn(widget)[0].startswith(" 101 100 word")
        assert not any("…" in line for line in look.drawn(widget))


async def test_a_long_file_is_wrapped_and_searched_in_a_thread(look: SimpleNamespace) -> None:
    lines = ["alpha beta " * 8] * 9_999 + ["omega"]
    widget = PreviewPane()
    async with look.showing(widget, 60, 10) as pilot:
        widget.show(prepare_preview(file(lines), width=40))
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        assert not any("…" in line for line in look.drawn(widget))
        widget.find("OMEGA")
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        assert widget.found == ("OMEGA", 1, 1)
        assert " 10000 omega" in look.drawn(widget)


async def test_find_steps_through_every_place(look: SimpleNamespace) -> None:
    widget = PreviewPane()
    async with look.showing(widget, 60, 4) as pilot:
        widget.show(prepare_preview(file(), width=widget.line_width))
        widget.focus()
        widget.find("Re")
        await pilot.press("n", "n", "N")
        await pilot.pause()
        found = [message for message in pilot.heard if isinstance(message, PreviewPane.Found)]
        assert [(message.current, message.total) for message in found] == [(1, 6), (2, 6), (3, 6), (2, 6)]
        assert found[0].control is widget
        reversed_ = [
            segment.text
            for y in range(4)
            for segment in widget.render_line(y)
            if segment.style is not None and segment.style.reverse
        ]
        assert reversed_ == ["re"], "only the place in sight"
        widget.find("")
        assert widget.found == ("", 0, 0)
        widget.find("nowhere [/]")
        assert widget.found == ("nowhere [/]", 0, 0)
        assert widget.check_action("find", (1,)) is False


async def test_marked_text_is_copied_without_gutter_and_wraps(look: SimpleNamespace) -> None:
    widget = PreviewPane()
    async with look.showing(widget, 55, 15) as pilot:
        widget.show(prepare_preview(file(), spans((1, 11)), width=widget.line_width))
        chosen = Selection(Offset(7, 3), Offset(6, 5))
        assert widget.get_selection(chosen) == (
            "tokens rotate every 15 minutes, refresh tokens live for thirty days and are single use.\n",
            "\n",
        )
        everything = widget.get_selection(Selection(None, None))
        assert everything is not None and everything[0].splitlines() == NOTES
        await pilot.mouse_down(widget, offset=(7, 0))
        await pilot.hover(widget, offset=(9, 0))
        await pilot.mouse_up(widget, offset=(9, 0))
        await pilot.pause()
        assert pilot.app.screen.get_selected_text() == "# W"
        look.drawn(widget)


async def test_only_lines_in_sight_are_drawn(look: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"line {number}" for number in range(200_000)]
    prepared = prepare_preview(file(lines), spans((1, 200_000)), matched=("line",), width=79)
    widget = PreviewPane()
    seen: list[int] = []
    draw = PreviewPane.draw_line
    monkeypatch.setattr(
        PreviewPane, "draw_line", lambda self, y, width: seen.append(y) or draw(self, y, width)
    )
    async with look.showing(widget, 80, 10) as pilot:
        widget.show(prepared, line=150_000)
        await pilot.pause()
        assert " 150000 │  line 149999" in look.drawn(widget)
    assert len(seen) < 100


async def test_no_file_and_a_failure_say_so(look: SimpleNamespace) -> None:
    widget = PreviewPane()
    async with look.showing(widget, 60, 8):
        widget.clear("No file is shown.", "enter", "opens one")
        assert [line for line in look.drawn(widget) if line] == [" No file is shown.", " enter opens one"]
        widget.show_failure(
            UnreadableFile("MEMORY.md cannot be read", data="Nothing changed.", hint="Check its mode.")
        )
        assert [line for line in look.drawn(widget) if line] == [
            " ✗ MEMORY.md cannot be read",
            " Nothing changed.",
            " Check its mode.",
        ]
        assert widget.document is None


def test_a_layout_gives_back_every_character() -> None:
    document = prepare_document(file(["one two three four five", "", "配置" * 9, "short"]))
    layout = lay_out(document, 14)
    for index, line in enumerate(document.lines):
        parts = layout.tops[index + 1] - layout.tops[index]
        assert "".join(line[slice(*layout.slice_of(index, part, len(line)))] for part in range(parts)) == line
        assert all(layout.line_at(layout.tops[index] + part) == (index, part) for part in range(parts))
