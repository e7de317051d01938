"""The list: cursor by id, keys, clicks, marks, empty states, many rows."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest
from textual.binding import Binding
from textual.strip import Strip

from tui.widgets.line_list import LineList, Row, RowState
from tui.widgets.multi_list import MultiList


class Plain(MultiList):
    """Draws the id of each row on every line of it; counts what it draws."""

    drawn = 0

    def render_row(self, row: Row, width: int, state: RowState) -> Iterable[Strip]:
        self.drawn += 1
        return [
            self.line(
                width, [(f"{row.id} {row.data or ''}".strip(), "strong")], [("end", "muted")], row=state.row
            )
            for _ in range(row.height)
        ]


def rows(*names: str, height: int = 1) -> list[Row]:
    """A name that starts with a dash is a rule, over which the cursor passes."""
    return [Row(name, None, height, selectable=not name.startswith("-")) for name in names]


async def test_the_cursor_stays_on_its_id_when_rows_come_and_go(look: SimpleNamespace) -> None:
    widget = Plain()
    async with look.showing(widget, 30, 8):
        widget.set_rows(rows("a", "b", "c"))
        assert widget.cursor_id == "a"
        widget.move_to("b")
        widget.set_rows(rows("x", "-rule", "b", "c"))
        assert widget.cursor_id == "b"
        widget.set_rows(rows("x", "y", "z"))
        assert widget.cursor_id == "z", "its row is gone: the one in its place"
        widget.set_rows(rows("p", "q"), lost="first")
        assert widget.cursor_id == "p"
        widget.set_rows(rows("p", "q"), cursor="q")
        assert widget.cursor_id == "q"
        widget.set_rows(rows("-only rules"))
        assert widget.cursor_id is None
        widget.set_rows(())
        assert widget.cursor is None


@pytest.mark.parametrize(
    ("keys", "reached"),
    [
        ("j", "b"), ("down", "b"), ("j j", "c"), ("j j k", "b"), ("G", "f"), ("end", "f"), ("G g", "a"),
        ("G home", "a"), ("k", "a"), ("G j", "f"), ("pagedown", "d"), ("pagedown pagedown", "f"),
        ("G pageup", "c"), ("h", "a"), ("l", "a"),
    ],
)  # fmt: skip
async def test_keys_move_and_pass_over_rules(look: SimpleNamespace, keys: str, reached: str) -> None:
    widget = Plain()
    async with look.showing(widget, 30, 5) as pilot:
        widget.set_rows(rows("-top", "a", "b", "-rule", "c", "d", "-low", "e", "f"))
        widget.focus()
        await pilot.press(*keys.split())
        await pilot.pause()
        assert widget.cursor_id == reached
        assert any(line.startswith("▌" + reached) for line in look.drawn(widget)), "the cursor is in sight"


async def test_the_heading_above_the_first_row_comes_back_into_sight(look: SimpleNamespace) -> None:
    widget = Plain()
    async with look.showing(widget, 30, 4) as pilot:
        widget.set_rows(rows("-heading", *"abcdefgh"))
        widget.focus()
        await pilot.press("G", "g")
        await pilot.pause()
        assert look.drawn(widget)[0].startswith(" -heading")


async def test_messages_name_the_row(look: SimpleNamespace) -> None:
    widget = Plain(id="list")
    async with look.showing(widget, 30, 5) as pilot:
        widget.set_rows(rows("a", "b"))
        widget.focus()
        await pilot.press("j", "enter")
        await pilot.pause()
        seen = [
            message for message in pilot.heard if isinstance(message, (LineList.Highlighted, LineList.Opened))
        ]
        assert [(type(message).__name__, message.row_id) for message in seen] == [
            ("Highlighted", "a"),
            ("Highlighted", "b"),
            ("Opened", "b"),
        ]
        assert all(message.control is widget for message in seen)


async def test_a_click_highlights_and_the_second_opens(look: SimpleNamespace) -> None:
    widget = Plain()
    async with look.showing(widget, 30, 6) as pilot:
        widget.set_rows(rows("a", "-rule", "b", height=2))

        def opened() -> list[str]:
            return [message.row_id for message in pilot.heard if isinstance(message, LineList.Opened)]

        await pilot.click(widget, offset=(3, 1))
        assert (widget.cursor_id, opened()) == ("a", []), "the click that brings the focus opens nothing"
        await pilot.click(widget, offset=(3, 5))
        assert (widget.cursor_id, opened()) == ("b", [])
        await pilot.click(widget, offset=(3, 2))
        assert (widget.cursor_id, opened()) == ("b", []), "a rule is not selectable"
        await pilot.click(widget, offset=(3, 4))
        await pilot.pause()
        assert opened() == ["b"]


async def test_marks_are_a_glyph_and_follow_their_rows(look: SimpleNamespace) -> None:
    widget = Plain()
    async with look.showing(widget, 30, 5) as pilot:
        widget.set_rows(rows("a", "b", "c"))
        widget.focus()
        await pilot.press("J", "J", "space")
        await pilot.pause()
        assert widget.marks == ("a", "b", "c")
        assert [line[:2] for line in look.drawn(widget)[:3]] == ["●a", "●b", "◉c"]
        await pilot.press("space")
        widget.set_rows(rows("b", "c", "d"))
        assert widget.marks == ("b",)
        widget.clear_marks()
        await pilot.pause()
        changes = [message.row_ids for message in pilot.heard if isinstance(message, MultiList.MarksChanged)]
        assert changes == [("a",), ("a", "b"), ("a", "b", "c"), ("a", "b"), ("b",), ()]


async def test_a_click_with_shift_marks_and_opens_nothing(look: SimpleNamespace) -> None:
    widget = Plain()
    async with look.showing(widget, 30, 5) as pilot:
        widget.set_rows(rows("a", "b"))
        widget.focus()
        await pilot.click(widget, offset=(3, 1), shift=True)
        await pilot.click(widget, offset=(3, 1), shift=True)
        await pilot.click(widget, offset=(3, 1), control=True)
        await pilot.pause()
        assert (widget.cursor_id, widget.marks) == ("b", ("b",))
        assert not any(isinstance(message, LineList.Opened) for message in pilot.heard)


async def test_an_empty_list_says_one_sentence_and_one_key(look: SimpleNamespace) -> None:
    widget = Plain()
    async with look.showing(widget, 40, 8):
        widget.set_empty("No logs yet: the agent writes one at the end of a session.", "n", "writes a note")
        text = [line.strip() for line in look.drawn(widget) if line]
        assert text == ["No logs yet: the agent writes one", "at the end of a session.", "n writes a note"]
        widget.set_rows(rows("a"))
        assert [line for line in look.drawn(widget) if line] == ["▌a" + " " * 34 + "end"]


@pytest.mark.parametrize("width", [2, 5, 12, 31, 200])
async def test_hostile_rows_are_drawn_harmless_in_exact_width(
    make: SimpleNamespace, look: SimpleNamespace, width: int
) -> None:
    widget = Plain()
    async with look.showing(widget, width, 6):
        widget.set_rows([Row(f"{number}{make.hostile}", make.hostile) for number in range(6)])
        widget.set_dim(True)
        assert len(look.drawn(widget)) == 6
        widget.set_rows(())
        widget.set_empty(make.hostile, make.hostile, make.hostile)
        look.drawn(widget)


async def test_of_ten_thousand_rows_only_those_in_sight_are_drawn(look: SimpleNamespace) -> None:
    widget = Plain()
    async with look.showing(widget, 40, 10) as pilot:
        widget.set_rows(rows(*(f"row {number}" for number in range(10_000)), height=2))
        widget.focus()
        await pilot.press("G")
        await pilot.pause()
        assert widget.cursor_id == "row 9999"
        assert look.drawn(widget)[-1].startswith("▌row 9999")
        assert widget.drawn < 60
        before = widget.drawn
        look.drawn(widget)
        assert widget.drawn == before, "what was drawn is kept"


async def test_a_new_theme_and_the_focus_draw_anew(look: SimpleNamespace) -> None:
    widget = Plain()
    async with look.showing(widget, 40, 4) as pilot:
        widget.set_rows(rows("a"))
        blurred = list(widget.render_line(0))
        widget.focus()
        await pilot.pause()
        focused = list(widget.render_line(0))
        assert [segment.style for segment in blurred] != [segment.style for segment in focused]
        pilot.app.theme = "textual-light"
        await pilot.pause()
        assert [segment.style for segment in widget.render_line(0)] != [segment.style for segment in focused]


async def test_every_piece_of_the_cursor_row_keeps_its_ground(look: SimpleNamespace) -> None:
    widget = Plain()
    async with look.showing(widget, 40, 4) as pilot:
        widget.set_rows(rows("a"))
        widget.focus()
        await pilot.pause()
        grounds: set[Any] = {segment.style.bgcolor for segment in widget.render_line(0) if segment.style}
        assert len(grounds) == 1


def test_every_binding_has_an_id_and_a_tooltip() -> None:
    declared = [*LineList.BINDINGS, *MultiList.BINDINGS]
    bindings = [binding for binding in declared if isinstance(binding, Binding)]
    assert len(bindings) == len(declared)
    assert all(binding.id and binding.tooltip for binding in bindings)
    assert len({binding.id for binding in bindings}) == len(bindings)
