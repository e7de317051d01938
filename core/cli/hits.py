"""Plain output of a search: the list, and with ``--explain`` every factor in words and numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from core.cli.render import LETTERS, cells, cut, pad, short_path, table
from core.safetext import visible_line
from core.search.report import Also, Factors, Hit, SearchReport, Stage, WhyReport
from core.store.layout import MEMORY_FILE
from core.wording import plural

_ALIGNED = 40
_EMPTY = {"only stop words": "only stop words, numbers and single letters"}
_REASONS = {"content_free": "no content", "below_floor": "below the floor", "cut": "past the last result"}


class Where:
    """Names chunks of one memory, all in one spelling that ``show`` and ``--chunk`` take back.

    ``everywhere``: paths begin at the root, since the workspaces are many.
    """

    def __init__(self, root: str, workspace: str, *, everywhere: bool = False) -> None:
        self.root = root
        self.workspace = workspace
        self.everywhere = everywhere
        self._places: dict[str, str] = {}

    def know(self, items: Iterable[Hit]) -> None:
        """Remember the lines of these, for rows that name one by its id alone."""
        self._places.update((item.id, self.place(item)) for item in items)

    def place(self, item: Hit | Also | WhyReport) -> str:
        """``MEMORY.md:24-31 #3``: lines 1-based inclusive, and the chunk's number in its file."""
        chunk_id = item.chunk_id if isinstance(item, WhyReport) else item.id
        lines = (
            f"{item.start_line}" if item.end_line <= item.start_line else f"{item.start_line}-{item.end_line}"
        )
        return f"{self._path(item.path)}:{lines} #{visible_line(chunk_id.rpartition(':')[2])}"

    def chunk(self, chunk_id: str) -> str:
        """The same for an id; without the lines where they are not known."""
        path, _, ordinal = chunk_id.rpartition(":")
        return self._places.get(chunk_id) or f"{self._path(path)} #{visible_line(ordinal)}"

    def _path(self, path: str) -> str:
        if self.workspace and path == f"{self.root}/{MEMORY_FILE}":
            # Named alone it would be the workspace's own.
            return visible_line(path if self.everywhere else f"../{MEMORY_FILE}")
        return visible_line(short_path(path, self.root, "" if self.everywhere else self.workspace))


def best_line(snippet: str, matched: Sequence[str]) -> str:
    """The line with most of the matched words; headings and context lines only when nothing else is there."""
    lines = [line.strip() for line in snippet.splitlines() if line.strip()]
    body = [line for line in lines if not line.startswith(("#", "[Context:", "<!--"))] or lines

    def worth(line: str) -> int:
        low = line.lower()
        return sum(word in low for word in matched)

    return max(body, key=worth, default="")


def search(report: SearchReport, where: Where, columns: int, *, explain: bool = False) -> str:
    """Hits, then what fell out (``explain``), what the agent misses, and the stages (``explain``)."""
    where.know((*report.hits, *report.dropped))
    blocks = []
    head = _rows(report.hits, where, columns)
    for line, hit in zip(head, report.hits, strict=True):
        lines = [
            line,
            cut("     " + visible_line(best_line(hit.snippet, hit.matched)), columns),
        ]
        if explain:
            lines += waterfall(hit, where)
        blocks.append("\n".join(lines))
    gap = "\n\n" if explain else "\n"
    parts = [gap.join(blocks)] if blocks else []
    if explain and report.dropped:
        parts.append(_dropped(report.dropped, where))
    if report.also:
        title = "the newest" if report.mode == "newest" else "your agent does not find these"
        parts.append("\n".join([title, *_also(report.also, where, columns)]))
    if explain:
        parts.append("stages\n" + "\n".join(stages(report.stages)))
    return "\n\n".join(parts)


def _rows(hits: Sequence[Hit], where: Where, columns: int) -> list[str]:
    ranks = len(str(max((hit.rank for hit in hits), default=0)))
    heads = [f" {hit.rank:>{ranks}}  {hit.score:.2f}  {LETTERS[hit.source]}" for hit in hits]
    return _placed(heads, hits, [_marks(hit) for hit in hits], where, columns)


def _placed(
    heads: Sequence[str], items: Sequence[Hit | Also], marks: Sequence[str], where: Where, columns: int
) -> list[str]:
    """Head, place, heading, marks: the heading gives way when a line would be too long."""
    places = [where.place(item) for item in items]
    # Short places make a column; a long one pushes only its own heading to the right.
    aligned = min(_ALIGNED, max((cells(place) for place in places), default=0))
    lines = []
    for head, item, place, mark in zip(heads, items, places, marks, strict=True):
        left = f"{head}  {pad(place, aligned)}"
        right = f"  {mark}" if mark else ""
        heading = cut(visible_line(item.heading), max(8, columns - cells(left) - cells(right) - 2))
        lines.append(f"{left}  {heading}{right}".rstrip())
    return lines


def _marks(hit: Hit) -> str:
    marks = [hit.age] if hit.source == "session" and hit.age else []
    if hit.staleness != "fresh":
        marks.append(hit.staleness)
    if hit.foreign:
        marks.append("of another workspace")
    return visible_line(", ".join(marks))


def waterfall(hit: Hit, where: Where) -> list[str]:
    """One line a factor: name, why, its value, the running product."""
    factors = hit.factors
    running = factors.merged
    rows = [
        ["text", _text_words(factors), _number(factors.text), ""],
        ["vector", "not compared" if factors.vector is None else "similarity", _number(factors.vector), ""],
        *([name, "of this profile", _number(value), ""] for name, value in factors.extras),
        ["merge", _merge_words(factors), f"{factors.merged:.3f}", f"{running:.3f}"],
    ]
    for name, words, value in (
        ("decay", _decay_words(hit), factors.decay),
        ("source", hit.source, factors.source_weight),
        ("access", plural(factors.access_count, "recall"), factors.access),
    ):
        running *= value
        rows.append([name, words, f"× {value:.3f}", f"{running:.3f}"])
    if factors.trust != 1.0:
        running *= factors.trust
        rows.append(["trust", "by its marks", f"× {factors.trust:.3f}", f"{running:.3f}"])
    verdict = "kept" if hit.reason is None else visible_line(hit.why) or _REASONS[hit.reason]
    sign = "≥" if factors.score >= factors.floor else "<"
    lines = table(rows, right=(2, 3), indent="     ")
    lines.append(
        f"     raw {factors.raw:.3f}, shown {factors.score:.3f} {sign} floor {factors.floor:.3f}: {verdict}"
    )
    if factors.mmr is None:
        # A candidate that fell out earlier never reached this stage.
        if hit.reason in (None, "cut"):
            lines.append("     mmr off")
    else:
        against = where.chunk(factors.mmr_against) if factors.mmr_against else "nothing before it"
        lines.append(f"     mmr {factors.mmr:.3f}, measured against {against}")
    return lines


def _text_words(factors: Factors) -> str:
    return "no word matched" if factors.bm25 is None else f"bm25 {factors.bm25:.3f}, among the candidates"


def _merge_words(factors: Factors) -> str:
    if factors.extras:
        return "weighted mean of the parts"
    if factors.vector is None:
        return "text alone"
    if factors.text is None:
        return "vector alone, by its weight"
    # The text stays where the mean would be less: without that a merge of 1.0 and .6 that is 1.0 is a riddle.
    return (
        "text: the weighted mean is less"
        if factors.merged <= factors.text
        else "weighted mean of text and vector"
    )


def _decay_words(hit: Hit) -> str:
    if hit.source != "session":
        return "curated, never ages"
    if hit.factors.half_life_days is None:
        return "off"
    return f"{hit.factors.age_days:.1f} days old, halves every {hit.factors.half_life_days:g}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _dropped(hits: Sequence[Hit], where: Where) -> str:
    rows = [
        [
            f"{hit.score:.2f}",
            LETTERS[hit.source],
            where.place(hit),
            visible_line(hit.why) or _REASONS.get(hit.reason or "", ""),
        ]
        for hit in hits
    ]
    return "candidates that fell out\n" + "\n".join(table(rows, right=(0,), indent=" "))


def _also(items: Sequence[Also], where: Where, columns: int) -> list[str]:
    heads = [f" {LETTERS[item.source]}" for item in items]
    marks = ["" if item.matched_by == "newest" else visible_line(item.matched_by) for item in items]
    lines = []
    for line, item in zip(_placed(heads, items, marks, where, columns), items, strict=True):
        lines += [line, cut("     " + visible_line(best_line(item.snippet, item.matched)), columns)]
    return lines


def stages(items: Sequence[Stage]) -> list[str]:
    """Each stage: whether it ran, why or why not, and how long it took."""
    return table(
        (
            [item.name, "ran" if item.ran else "skipped", visible_line(item.why), f"{item.ms:.1f} ms"]
            for item in items
        ),
        right=(3,),
        indent=" ",
    )


def summary(report: SearchReport) -> str:
    """The line a search ends with: how many of how many, how long, by which rules."""
    if report.mode == "newest":
        count = f"the newest {len(report.hits) + len(report.also)}"
    else:
        count = f"{len(report.hits)} of {report.candidates} candidates"
    where = "everywhere" if report.everywhere else visible_line(report.workspace) or "global memory only"
    return f"{count}, {report.ms:.0f} ms, {report.mode}, profile {report.profile}, {where}"


def nothing(report: SearchReport) -> str:
    """Why there is no hit, in words."""
    return _EMPTY.get(report.empty_reason, report.empty_reason) or "nothing was found"


def why(report: WhyReport, where: Where) -> str:
    """Where one chunk stands for a query, and what it lacks."""
    lines = [f"{where.place(report)}  {visible_line(report.verdict)}"]
    facts = []
    if report.place is not None:
        taken = f", cut at {report.cut_at}" if report.cut_at else ""
        facts.append(["bm25 place", f"{report.place} of {report.matches}{taken}"])
    if report.bm25 is not None:
        facts.append(["bm25", f"{report.bm25:.3f}"])
    facts.append(["has", visible_line(", ".join(report.present)) or "none of the words"])
    facts.append(["lacks", visible_line(", ".join(report.missing)) or "no word"])
    lines += table(facts, indent="     ")
    if report.hit is not None:
        lines += waterfall(report.hit, where)
    lines += ["", *(f"     {visible_line(line)}" for line in report.snippet.splitlines())]
    return "\n".join(lines)
