"""Why a row ranks where it does on either side: the waterfall of the saved settings beside that of the trial."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from textual.app import ComposeResult
from textual.strip import Strip

from tui import format as fmt
from tui.screens.lab.frame import LabPane
from tui.screens.lab.moves import Move
from tui.text import clean
from tui.widgets.line_view import Piece, ScrollPane
from tui.widgets.marked import without_comments
from tui.widgets.waterfall import FactorRow, Line, also_lines, factor_rows

if TYPE_CHECKING:
    from core.memory import Also, Hit, SearchReport

Weights = tuple[float, float]

_NAME = 9
_TWO_FROM = 66
"""Width from which the two waterfalls stand side by side."""
_BAR_FROM = 30
"""Width of one side from which the running product has its bar."""
_ONE_AT = 7 / 8
_REASONS = {"below_floor": "below the floor", "content_free": "no content", "cut": "cut"}
_DIFFERS = "≠"


@dataclass(frozen=True, slots=True)
class Side:
    """One side's answer: the candidate (None: it is none there), its report and (text, vector) weights."""

    hit: Hit | None
    report: SearchReport
    weights: Weights

    @property
    def rows(self) -> dict[str, FactorRow]:
        if self.hit is None:
            return {}
        return {row.name: row for row in factor_rows(self.hit, self.report, self.weights)}


def find_hit(report: SearchReport, chunk: str) -> Hit | None:
    """The candidate of that id, kept or not."""
    return next((hit for hit in (*report.hits, *report.dropped) if hit.id == chunk), None)


def compare_lines(saved: Side, trial: Side, move: Move | None, width: int) -> list[Line]:
    """Both waterfalls for a pane of ``width`` cells; at least one side has a candidate."""
    lines = [_title(saved, trial, move, width)]
    two = width >= _TWO_FROM
    rooms = ((width - 2 - _NAME) // 2, (width - 2 - _NAME) // 2)
    if two:
        lines.append(_two(" ", ("", ""), [("saved", "muted")], [("trial", "muted")], rooms))
    left, right = saved.rows, trial.rows
    first, second = (right, left) if len(right) > len(left) else (left, right)
    for name in dict.fromkeys((*first, *second)):
        one, other = left.get(name), right.get(name)
        differs = one is None or other is None or one.value != other.value
        mark = _DIFFERS if differs and left and right else " "
        if two:
            lines.append(
                _two(
                    mark,
                    (clean(name), "strong" if differs else ""),
                    _cell(one, rooms[0]),
                    _cell(other, rooms[1]),
                    rooms,
                )
            )
        else:
            lines.append(_one(mark, name, one, other, width, differs))
    for name, words in (("shown", _shown), ("mmr", _mmr)):
        if two:
            pieces = [[(fmt.fit(words(side), rooms[0]), "")] for side in (saved, trial)]
            lines.append(_two(" ", (name, "muted"), pieces[0], pieces[1], rooms))
            continue
        for number, (label, side) in enumerate((("saved", saved), ("trial", trial))):
            left_pieces = (
                (" ", ""),
                (f"{'' if number else name:<{_NAME}}", "muted"),
                (f"{label}  ", "muted"),
            )
            lines.append(Line((*left_pieces, (words(side), ""))))
    return lines


def _title(saved: Side, trial: Side, move: Move | None, width: int) -> Line:
    hit = trial.hit or saved.hit
    assert hit is not None
    before, after = (f"#{side.hit.rank}" if side.hit and side.hit.rank else "–" for side in (saved, trial))
    tag = f"{before} → {after}  " if before != after else f"{before}  "
    heading = clean(without_comments(hit.heading))
    parts = [clean(fmt.place(hit.path, hit.start_line, hit.source)), heading]
    room = max(4, width - fmt.width_of(tag) - 12)
    name = fmt.crumbs([part for part in parts if part], room)
    right: tuple[Piece, ...] = ((f"{move} ", "muted"),) if move is not None else ()
    return Line(
        ((" ", ""), (tag, "strong"), (f"{fmt.source_letter(hit.source)}  ", "muted"), (name, "strong")), right
    )


def _two(mark: str, name: Piece, left: list[Piece], right: list[Piece], rooms: tuple[int, int]) -> Line:
    return Line(
        (
            (mark, "warn"),
            (f"{name[0]:<{_NAME}}", name[1]),
            *_padded(left, rooms[0] - 2),
            ("  ", ""),
            *_padded(right, rooms[1]),
        )
    )


def _padded(pieces: list[Piece], width: int) -> list[Piece]:
    used = sum(fmt.width_of(text) for text, _ in pieces)
    return [*pieces, (" " * max(0, width - used), "")]


def _cell(row: FactorRow | None, room: int) -> list[Piece]:
    """One side of a factor in ``room − 2`` cells: why, value, bar."""
    room -= 2
    if row is None:
        return [("–", "muted")]
    wide = room >= _BAR_FROM
    tail = f" {row.value:>6}"
    if wide:
        tail += " " + (fmt.bar(row.running * _ONE_AT) if row.running is not None else " " * fmt.BAR_CELLS)
    left = room - fmt.width_of(tail)
    why = next((words for words in (row.why, *row.shorter) if fmt.width_of(words) <= left), row.why)
    return [(fmt.pad(clean(why), left), "muted"), (tail, "warn strong" if row.lost_most else "")]


def _one(
    mark: str, name: str, one: FactorRow | None, other: FactorRow | None, width: int, differs: bool
) -> Line:
    values = [row.value if row is not None else "–" for row in (one, other)]
    numbers = f"{values[0]:>6} → {values[1]:>6}" if differs else f"{'':9}{values[1]:>6}"
    row = other or one
    assert row is not None
    room = width - 2 - _NAME - len(numbers) - 2
    why = next((words for words in (row.why, *row.shorter) if fmt.width_of(words) <= room), row.why)
    return Line(
        (
            (mark, "warn"),
            (f"{clean(name):<{_NAME}}", "strong" if differs else ""),
            (fmt.fit(clean(why), max(1, room)), "muted"),
        ),
        ((f"{numbers} ", "strong" if differs else ""),),
    )


def _shown(side: Side) -> str:
    hit = side.hit
    if hit is None:
        return "not a candidate"
    score, floor = fmt.number(hit.score), fmt.number(hit.factors.floor)
    if score == floor and hit.score < hit.factors.floor:
        score = "just"
    sign = "≥" if hit.score >= hit.factors.floor else "<"
    return f"{score} {sign} {floor}  " + (f"kept, #{hit.rank}" if hit.rank else _REASONS[hit.reason or "cut"])


def _mmr(side: Side) -> str:
    if side.hit is None:
        return "–"
    factors = side.hit.factors
    if factors.mmr is None:
        ran = any(stage.ran for stage in side.report.stages if stage.name == "mmr")
        return "not ranked by it" if ran else "off"
    against = next((one for one in side.report.hits if one.id == factors.mmr_against), None)
    if against is not None:
        return f"{fmt.number(factors.mmr)} against #{against.rank}"
    return (
        f"{fmt.number(factors.mmr)} {'against one that was cut' if factors.mmr_against else 'chosen first'}"
    )


class FactorsView(ScrollPane):
    """Shows one comparison, laid out anew for each width."""

    BINDING_GROUP_TITLE = "Factors"
    NOTHING = "Select a row to see every factor of either side."

    def __init__(self) -> None:
        super().__init__(id="factors-view")
        self._write: Callable[[int], list[Line]] = self._nothing
        self._lines: list[Line] = []
        self._laid_out_for = -1

    def show(self, write: Callable[[int], list[Line]] | None) -> None:
        """Show what ``write(width)`` gives; None: nothing is selected."""
        self._write = write or self._nothing
        self._laid_out_for = -1
        self.relayout()
        self.scroll_to(y=0, animate=False, immediate=True)

    @property
    def plain(self) -> str:
        return "\n".join(self.draw_line(y, self.line_width).text.rstrip() for y in range(self.line_count))

    def _nothing(self, width: int) -> list[Line]:
        return [Line(((" ", ""), (row, "muted"))) for row in fmt.wrap(self.NOTHING, max(4, width - 2))]

    def _layout(self) -> list[Line]:
        width = self.line_width
        if width != self._laid_out_for:
            self._lines = self._write(width)
            self._laid_out_for = width
        return self._lines

    @property
    def line_count(self) -> int:
        return len(self._layout())

    def draw_line(self, y: int, width: int) -> Strip:
        line = self._layout()[y]
        return self.rule(line.rule, width) if line.rule else self.line(width, line.left, line.right)


class FactorsPane(LabPane):
    HELP = (
        "Every factor of the selected row, under the saved settings and under those on trial, in the order they "
        "apply; ≠ marks those that differ.  A row that is a candidate on one side only says so."
    )

    def __init__(self) -> None:
        super().__init__("factors")

    def compose(self) -> ComposeResult:
        yield FactorsView()

    @property
    def view(self) -> FactorsView:
        return self.query_one(FactorsView)

    def show(
        self, item: Hit | Also | None, saved: Side | None, trial: Side | None, move: Move | None
    ) -> None:
        """Explain a row of either list; ``item`` without a candidate on either side explains itself."""
        if item is None or saved is None or trial is None:
            self.view.show(None)
        elif saved.hit is None and trial.hit is None:
            also = cast("Also", item)
            self.view.show(lambda width: also_lines(also, width))
        else:
            one, other = saved, trial
            self.view.show(lambda width: compare_lines(one, other, move, width))
