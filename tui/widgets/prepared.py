"""A search report made ready to draw, off the loop: rows with every text cleaned, chosen, measured and marked."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tui import format as fmt
from tui.text import clean
from tui.widgets.line_list import Row
from tui.widgets.losses import loss_words
from tui.widgets.marked import Span, best_line, is_text, pattern_of, spans_in, without_comments

if TYPE_CHECKING:
    from core.memory import Also, Hit, SearchReport

Kind = Literal["hit", "dropped", "also", "rule", "note"]
_WORKSPACE_CELLS = 18
_HASH_CELLS = 9  # the dash and the eight digits at the end of a workspace folder's name


@dataclass(frozen=True, slots=True)
class Entry:
    """What one row of the result list says; texts are cleaned.  A rule or a note says only ``heading``."""

    kind: Kind
    heading: str = ""
    rank: str = ""
    bar: float | None = None
    score: str = ""
    letter: str = ""
    workspace: str = ""
    place: str = ""
    age: str = ""
    mark: str = ""
    reason: str = ""
    line: str = ""
    marks: tuple[Span, ...] = ()
    heading_marks: tuple[Span, ...] = ()
    item: Hit | Also | None = None


@dataclass(frozen=True, slots=True)
class Columns:
    """Cells of the columns that depend on the report; 0: the column is not there."""

    rank: int
    workspace: int
    age: int
    mark: int
    scored: bool


@dataclass(frozen=True, slots=True)
class PreparedReport:
    """A report and its rows.  ``empty``: what to say when there is no row (sentence, action id, what it does)."""

    report: SearchReport
    rows: tuple[Row, ...]
    columns: Columns
    summary: str
    empty: tuple[str, str, str] | None

    @property
    def asked(self) -> tuple[str, str, str, bool]:
        """What was asked, to tell a refresh of the same question from a new one."""
        report = self.report
        return (report.query, report.workspace, report.profile, report.everywhere)


def prepare(report: SearchReport) -> PreparedReport:
    """Make a report ready to draw.  Pure; linear in the text of its chunks; meant for the worker."""
    names = _workspace_names(report) if report.everywhere else {}
    entries: list[Entry] = []
    newest = report.mode == "newest"
    if not report.hits and (report.dropped or report.also) and not newest:
        entries.append(Entry("note", heading=empty_state(report)[0]))
    scored = not newest
    entries += [_hit(hit, hit.rank, names, scored) for hit in report.hits]
    place = len(report.hits)
    for title, group, ranked in _groups(report):
        entries.append(Entry("rule", heading=title))
        for hit in group:
            place += ranked
            entries.append(_dropped(hit, place if ranked else 0, len(report.hits), names))
    if newest:
        entries += [_listed(item, names) for item in report.also]
    elif report.also:
        entries.append(Entry("rule", heading="your agent does not find these"))
        entries += [_also(item, names) for item in report.also]
    columns = Columns(
        rank=max((len(entry.rank) for entry in entries), default=1) or 1,
        workspace=max((fmt.width_of(entry.workspace) for entry in entries), default=0),
        age=max((len(entry.age) for entry in entries), default=0),
        mark=max((len(entry.mark) for entry in entries), default=0),
        scored=scored,
    )
    return PreparedReport(
        report=report,
        rows=_rows(entries),
        columns=columns,
        summary=summary(report),
        empty=None if entries else empty_state(report),
    )


def summary(report: SearchReport) -> str:
    """The count and the time, as the frame of the list says them: ``6 of 18 · 4 ms``."""
    if report.mode == "newest":
        return f"newest {len(report.hits) + len(report.also)} · {fmt.milliseconds(report.ms)}"
    also = f" + {len(report.also)}" if report.also else ""
    return f"{len(report.hits)} of {report.candidates}{also} · {fmt.milliseconds(report.ms)}"


def empty_state(report: SearchReport) -> tuple[str, str, str]:
    """Why there is no hit: one sentence, the action that helps, and what that does."""
    reason = report.empty_reason
    if "floor" in reason:
        floor = [hit.factors.floor for hit in report.dropped if hit.reason == "below_floor"]
        sentence = "All candidates are below the floor."
        if floor:
            sentence = f"All below the floor {fmt.number(floor[0])}: {fmt.count(len(floor), 'candidate')}."
        return (sentence, "search.focus", "asks more precisely")
    if "no match" in reason:
        return ("No chunk has any of these words.", "search.focus", "asks something else")
    if "headings" in reason:
        return (
            "Only headings and templates match: no text to recall.",
            "search.focus",
            "asks something else",
        )
    if "stop word" in reason:
        return (
            "Only stop words and numbers: your agent searches for none of these.",
            "search.focus",
            "adds a rarer word",
        )
    if "indexed" in reason:
        return ("Nothing is indexed here yet.", "index.rescan", "looks at the files again")
    if "behind" in reason:
        return (clean(reason[:1].upper() + reason[1:]) + ".", "index.rescan", "tries again")
    sentence = reason or "nothing found"
    return (
        clean(sentence[:1].upper() + sentence[1:]).rstrip(".") + ".",
        "search.focus",
        "asks something else",
    )


def _groups(report: SearchReport) -> list[tuple[str, list[Hit], bool]]:
    """Dropped candidates under the rule that says where they fell; those without content have no rank."""
    by_reason: dict[str, list[Hit]] = {"cut": [], "below_floor": [], "content_free": []}
    for hit in report.dropped:
        by_reason[hit.reason or "below_floor"].append(hit)
    floor = fmt.number(report.dropped[0].factors.floor) if report.dropped else ""
    titles = {
        "cut": f"past the first {len(report.hits)}",
        "below_floor": f"below the floor {floor}",
        "content_free": "no content",
    }
    return [(titles[key], group, key != "content_free") for key, group in by_reason.items() if group]


def _hit(hit: Hit, rank: int, names: dict[str, str], scored: bool) -> Entry:
    pattern = pattern_of(hit.matched)
    heading = clean(without_comments(hit.heading))
    line, marks = best_line(hit.snippet, pattern)
    return Entry(
        "hit",
        heading=heading,
        heading_marks=spans_in(heading, pattern),
        rank=str(rank) if scored else "",
        bar=hit.score if scored else None,
        score=fmt.number(hit.score) if scored else "",
        letter=fmt.source_letter(hit.source),
        workspace=names.get(hit.workspace, ""),
        place=clean(fmt.place(hit.path, hit.start_line, hit.source)),
        age=fmt.age(hit.factors.age_days) if hit.source == "session" else "",
        mark=" ".join(_marks(hit)),
        line=line,
        marks=marks,
        item=hit,
    )


def _marks(hit: Hit) -> list[str]:
    marks = [] if hit.staleness == "fresh" else [str(hit.staleness)]
    return [*marks, "foreign"] if hit.foreign else marks


def _dropped(hit: Hit, place: int, first: int, names: dict[str, str]) -> Entry:
    factors = hit.factors
    reason = loss_words(factors)
    shown = fmt.number(hit.score)
    if hit.reason == "content_free":
        reason = "a template" if any(map(is_text, hit.snippet.split("\n"))) else "headings only"
    elif hit.reason == "cut":
        reason = f"cut at {first}"
    elif shown == fmt.number(factors.floor):
        shown = f"<{shown}"  # just below the floor must not read as if it reached it
    return Entry(
        "dropped",
        heading=clean(without_comments(hit.heading)),
        rank=str(place) if place else "",
        bar=hit.score,
        score=shown,
        letter=fmt.source_letter(hit.source),
        workspace=names.get(hit.workspace, ""),
        place=clean(fmt.place(hit.path, hit.start_line, hit.source)),
        reason=("foreign · " if hit.foreign else "") + reason,
        item=hit,
    )


def _listed(item: Also, names: dict[str, str]) -> Entry:
    """A chunk listed without a query: nothing is scored, so it has neither rank nor reason."""
    line, marks = best_line(item.snippet, None)
    return Entry(
        "hit",
        heading=clean(without_comments(item.heading)),
        letter=fmt.source_letter(item.source),
        workspace=names.get(item.workspace, ""),
        place=clean(fmt.place(item.path, item.start_line, item.source)),
        line=line,
        marks=marks,
        item=item,
    )


def _also(also: Also, names: dict[str, str]) -> Entry:
    return Entry(
        "also",
        heading=clean(without_comments(also.heading)),
        letter=fmt.source_letter(also.source),
        workspace=names.get(also.workspace, ""),
        place=clean(fmt.place(also.path, also.start_line, also.source)),
        reason=f"matched: {clean(also.matched_by)}",
        item=also,
    )


def _rows(entries: list[Entry]) -> tuple[Row, ...]:
    rows: list[Row] = []
    seen: Counter[str] = Counter()
    for entry in entries:
        # A chunk can come from two indexes (a foreign row); ids of rows must not.
        name = entry.item.id if entry.item is not None else f"{entry.kind}: {entry.heading}"
        seen[name] += 1
        row_id = name if seen[name] == 1 else f"{name} ({seen[name]})"
        height = 2 if entry.kind in ("hit", "note") else 1
        rows.append(Row(row_id, entry, height, selectable=entry.item is not None))
    return tuple(rows)


def _workspace_names(report: SearchReport) -> dict[str, str]:
    """Short names of the workspaces in a report: without the hash where that is unambiguous."""
    folders = {hit.workspace for hit in (*report.hits, *report.dropped)}
    folders |= {item.workspace for item in report.also}
    short = {
        folder: folder[:-_HASH_CELLS] if folder[-_HASH_CELLS:][:1] == "-" else folder for folder in folders
    }
    uses = Counter(short.values())
    names: dict[str, str] = {}
    for folder in folders:
        name = short[folder] if uses[short[folder]] == 1 else folder
        names[folder] = fmt.fit(clean(name), _WORKSPACE_CELLS) or "global"
    return names
