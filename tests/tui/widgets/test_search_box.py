"""The query box: keys, and pastes of any size and content."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from textual import events
from textual.widgets import Input

from tui.widgets.search_box import QUERY_LIMIT, SearchBox


async def paste(pilot: object, box: SearchBox, text: str) -> None:
    box.post_message(events.Paste(text))
    await pilot.pause()  # type: ignore[attr-defined]


@pytest.mark.parametrize("key", ["enter", "down"])
async def test_enter_and_down_accept_the_query(look: SimpleNamespace, key: str) -> None:
    box = SearchBox(placeholder="search [/] the memory")
    async with look.showing(box, 40, 3) as pilot:
        box.focus()
        await pilot.press("a", "b", key)
        await pilot.pause()
        accepted = [message for message in pilot.heard if isinstance(message, SearchBox.Accepted)]
        assert [(message.query, message.control) for message in accepted] == [("ab", box)]
        assert not any(isinstance(message, Input.Submitted) for message in pilot.heard)


async def test_escape_leaves(look: SimpleNamespace) -> None:
    box = SearchBox()
    async with look.showing(box, 40, 3) as pilot:
        box.value = "query"
        box.focus()
        await pilot.press("escape")
        await pilot.pause()
        assert [message.control for message in pilot.heard if isinstance(message, SearchBox.Left)] == [box]
        assert box.value == "query"


async def test_nothing_blinks_and_focus_selects_nothing(look: SimpleNamespace) -> None:
    box = SearchBox()
    async with look.showing(box, 40, 3) as pilot:
        box.value = "query"
        box.focus()
        await pilot.pause()
        assert not box.cursor_blink
        assert box.selected_text == ""


async def test_a_pasted_megabyte_is_cut_and_said(look: SimpleNamespace) -> None:
    box = SearchBox()
    async with look.showing(box, 40, 3) as pilot:
        box.focus()
        await paste(pilot, box, "word " * 200_000)
        notes = [message for message in pilot.heard if isinstance(message, SearchBox.Shortened)]
        assert len(box.value) == QUERY_LIMIT
        assert [(message.pasted, message.kept) for message in notes] == [(999_999, QUERY_LIMIT)]
        assert notes[0].note == "The query was cut: 2,000 of 999,999 pasted characters were taken."
        await paste(pilot, box, "more")
        assert len(box.value) == QUERY_LIMIT


async def test_a_small_paste_goes_in_at_the_cursor_unsaid(look: SimpleNamespace) -> None:
    box = SearchBox()
    async with look.showing(box, 40, 3) as pilot:
        box.value = "ad"
        box.focus()
        box.cursor_position = 1
        await paste(pilot, box, "\n bc \n")
        assert box.value == "abcd"
        assert box.cursor_position == 3
        assert not any(isinstance(message, SearchBox.Shortened) for message in pilot.heard)


async def test_of_several_lines_the_first_is_taken_and_said(look: SimpleNamespace) -> None:
    box = SearchBox()
    async with look.showing(box, 40, 3) as pilot:
        box.focus()
        await paste(pilot, box, "first\nsecond")
        assert box.value == "first"
        assert any(isinstance(message, SearchBox.Shortened) for message in pilot.heard)


async def test_the_clipboard_goes_the_same_way(look: SimpleNamespace) -> None:
    box = SearchBox()
    async with look.showing(box, 40, 3) as pilot:
        box.value = "old"
        box.focus()
        box.select_all()
        pilot.app.copy_to_clipboard("x" * 5_000)
        await pilot.press("ctrl+v")
        assert box.value == "x" * QUERY_LIMIT


async def test_pasted_controls_become_symbols(make: SimpleNamespace, look: SimpleNamespace) -> None:
    box = SearchBox()
    async with look.showing(box, 40, 3) as pilot:
        box.focus()
        await paste(pilot, box, make.hostile)
        look.harmless(box.value)
        await pilot.pause()
        for y in range(3):
            look.harmless(box.render_line(y).text)
