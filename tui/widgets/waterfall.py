"""The score of one chunk as lines of words and numbers: factor · why · × value · running product with its bar."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from operator import mul
from typing import TYPE_CHECKING

from tui import format as fmt
from tui.text import clean
from tui.widgets.line_view import Piece
from tui.widgets.losses import MATCHES, factor_values, largest_loss
from tui.widgets.marked import context_of, without_comments

if TYPE_CHECKING:
    from core.memory import Also, Factors, Hit, SearchReport, WhyReport

_NAME_CELLS = 8
_VALUE_CELLS = 6  # "× 1.00"
_BAR_FROM = 36
"""Width from which the running product has a bar."""
_RUNNING_FROM = 48
"""Width from which it has its number as well."""
_ONE_AT = 7 / 8
"""Where 1.00 ends in a bar: the eighth cell is for what recalls and weights add to it."""
_SINK = "▼"


NEWEST = "newest"
"""The path that "matched" a chunk which is listed because there is no query."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the pane: pieces at the left, pieces up to the right edge; ``rule`` instead is a title."""

    left: tuple[Piece, ...] = ()
    right: tuple[Piece, ...] = ()
    rule: str = ""


@dataclass(frozen=True, slots=True)
class FactorRow:
    """A row of the waterfall; ``running`` is the product so far, None where none has begun."""

    name: str
    why: str
    value: str
    running: float | None = None
    lost_most: bool = False
    shorter: tuple[str, ...] = ()


def hit_lines(hit: Hit, report: SearchReport, width: int, weights: tuple[float, float] | None) -> list[Line]:
    """Everything about a candidate, kept or dropped, for a pane of ``width`` cells."""
    lines = _header(hit, f"#{hit.rank}" if hit.rank else "–", width)
    lines += [
        *_column_names(width),
        *(_factor_line(row, width, _scale(hit.factors)) for row in factor_rows(hit, report, weights)),
    ]
    lines += [Line(), *_verdict(hit, width), *_mmr(hit, report, width)]
    if hit.matched:
        lines += _named("words", ", ".join(hit.matched), width)
    return [*lines, *_not_run(report, width)]


def factor_rows(hit: Hit, report: SearchReport, weights: tuple[float, float] | None) -> list[FactorRow]:
    """The waterfall of a candidate.  ``weights``: (text, vector) as set, to show how the two were merged."""
    factors = hit.factors
    loss = largest_loss(factors) if hit.reason != "content_free" else None
    lost = loss[0] if loss else ""
    products = list(accumulate((value for _, value in factor_values(factors)), mul))
    text = f"bm25 {fmt.number(factors.bm25)}" if factors.bm25 is not None else "no word matches"
    recalls = fmt.count(factors.access_count, "recall") if factors.access_count else "never recalled"

    def row(name: str, why: tuple[str, ...], value: str, step: int | None = None) -> FactorRow:
        return FactorRow(name, why[0], value, None if step is None else products[step], name == lost, why[1:])

    return [
        row("text", (text,), _value(factors.text)),
        row("vector", _vector_words(factors, report), _value(factors.vector)),
        *(row(name, _EXTRA_WORDS.get(name, ("",)), _value(value)) for name, value in factors.extras),
        row("merge", _merge_words(factors, weights, report.profile), _value(factors.merged), 0),
        row("decay", _decay_words(hit), _times(factors.decay), 1),
        row("source", (hit.source,), _times(factors.source_weight), 2),
        row("access", (recalls, "never"), _times(factors.access), 3),
        *(
            [row("trust", ("by its marks", "marks"), _times(factors.trust), 4)]
            if factors.trust != 1.0
            else []
        ),
    ]


def also_lines(also: Also, width: int) -> list[Line]:
    """What matched in a chunk that the agent's rules do not find, or that it is listed without a query."""
    if also.matched_by == NEWEST:
        lines = _header(also, "–", width)
        return [
            *lines,
            Line(),
            *_wrapped("No query: the newest chunks come first, nothing is scored.", width),
        ]
    return [
        *_header(also, "also", width),
        Line(),
        *_wrapped("Your agent does not find this chunk.", width, "strong"),
        *_named("by", also.matched_by, width),
        *(_named("words", ", ".join(also.matched), width) if also.matched else ()),
        Line(),
        *_wrapped("It has no score: it never competes with what the agent's own rules find.", width, "muted"),
    ]


def why_lines(
    why: WhyReport, report: SearchReport | None, width: int, weights: tuple[float, float] | None
) -> list[Line]:
    """The answer to *why, or why not, this chunk*."""
    lines = _header(why, "why", width) if why.hit is None else []
    lines += _wrapped(why.verdict, width, "strong")
    if why.hit is not None and report is not None:
        return [*lines, Line(), *hit_lines(why.hit, report, width, weights)]
    lines.append(Line())
    if why.place is not None:
        cut = f", {why.cut_at:,} are taken" if why.cut_at else ""
        lines += _named("place", f"{ordinal(why.place)} of {why.matches:,} by BM25{cut}", width)
    elif why.matches:
        lines += _named("place", f"none: {fmt.count(why.matches, 'other chunk')} match", width)
    if why.bm25 is not None:
        lines += _named("bm25", fmt.number(why.bm25), width)
    lines += _named("has", "✓ " + ", ".join(why.present) if why.present else "none of the words", width)
    if why.missing:
        lines += _named("lacks", "✗ " + ", ".join(why.missing), width)
    for note in why.notes:
        lines += _named("note", note, width)
    return lines


def ordinal(place: int) -> str:
    """``1st``, ``2nd``, ``13th``."""
    last = place % 10
    suffix = "th" if place % 100 in (11, 12, 13) or not 1 <= last <= 3 else ("st", "nd", "rd")[last - 1]
    return f"{place:,}{suffix}"


def _header(item: Hit | Also | WhyReport, tag: str, width: int) -> list[Line]:
    heading = without_comments(getattr(item, "heading", ""))
    context = [part for part in map(without_comments, context_of(item.snippet)) if part != heading]
    place = fmt.place(item.path, item.start_line, item.source).rsplit(":", 1)[0]
    letter = f"{tag} {fmt.source_letter(item.source)}  "
    room = max(4, width - len(letter) - 2)
    parts = [clean(part) for part in (place, *context, heading) if part]
    trail = fmt.wrap(" › ".join(parts), room)
    if len(trail) > 2:
        trail = [fmt.crumbs(parts, room)]
    facts = [f"lines {item.start_line:,}–{item.end_line:,}"]
    facts += [fact for fact in (getattr(item, "age", ""),) if fact]
    if getattr(item, "staleness", "fresh") != "fresh":
        facts.append(str(getattr(item, "staleness", "")))
    if getattr(item, "foreign", False):
        facts.append("foreign: a row of another workspace")
    return [
        Line(((" ", ""), (letter, "muted"), (trail[0], "strong"))),
        *(Line(((" " * (len(letter) + 1), ""), (row, "strong"))) for row in trail[1:]),
        *_wrapped(" · ".join(facts), width, "muted"),
    ]


def _value(value: float | None) -> str:
    return "–" if value is None else fmt.number(value)


def _times(value: float) -> str:
    return f"× {fmt.score(value)}"


def _vector_words(factors: Factors, report: SearchReport) -> tuple[str, ...]:
    """In words, then shorter ones; so in ``_merge_words`` and ``_decay_words``."""
    if report.profile == "tuned" and factors.vector is not None:
        return ("scaled over the nearest", "scaled")
    if factors.vector is not None:
        return (f"L2 {fmt.number(2 - 2 * factors.vector)}" if factors.vector > 0 else "L2 2 or more",)
    if report.mode == "text after an embedding failure":
        return ("embedding failed", "failed")
    return (
        ("n/a: text only", "text only") if report.mode == "text only" else ("not among the near", "not near")
    )


_EXTRA_WORDS = {
    "passage": ("the nearest passage, scaled", "scaled"),
    "units": ("as written in the query", "as written"),
}


def _merge_words(factors: Factors, weights: tuple[float, float] | None, profile: str) -> tuple[str, ...]:
    if profile == "tuned":
        return ("weighted mean of the parts", "weighted mean")
    if factors.vector is None:
        return ("text alone",)
    if weights is None:
        return ("vector alone",) if factors.text is None else ("text and vector", "text+vector")
    text_weight, vector_weight = (f"{weight:g}".removeprefix("0") for weight in weights)
    vector = fmt.number(factors.vector)
    if factors.text is None:
        return (f"{vector_weight}·{vector}",)
    text = fmt.number(factors.text)
    long = f"max({text_weight}·{text}+{vector_weight}·{vector}, {text})"
    # The text stays where the mean would be less: without that a merge of 1.00 and .60 that is 1.00 is a riddle.
    short = (
        "text, the mean is less"
        if factors.text is not None and factors.merged <= factors.text
        else "their mean"
    )
    return (long, short, short.partition(",")[0])


def _decay_words(hit: Hit) -> tuple[str, ...]:
    factors = hit.factors
    if hit.source != "session":
        return ("curated",)
    if factors.half_life_days is None:
        return ("off",)
    age, half_life = f"{factors.age_days:.1f} d", f"{factors.half_life_days:g} d"
    return (
        f"{age}, half-life {half_life}",
        f"{age} / {half_life}",
        f"{factors.age_days:.0f} d / {half_life}",
    )


def _scale(factors: Factors) -> float:
    """What the running product is multiplied by for its bar: 1.00 fills seven cells, unless more is needed."""
    highest = max(accumulate((value for _, value in factor_values(factors)), mul))
    return min(_ONE_AT, 1 / highest) if highest > 0 else _ONE_AT


def _column_names(width: int) -> list[Line]:
    """A blank line, and what the columns of the factors are where both numbers are shown."""
    if width < _RUNNING_FROM:
        return [Line()]
    # The heading of the running product is wider than its numbers and ends over its bar.
    bar = " " * (1 + fmt.BAR_CELLS - 2)
    right = (f"{'value':>{_VALUE_CELLS}}  so far{bar}", "muted")
    return [Line(), Line(((" ", ""), (f"{'factor':<{_NAME_CELLS}}why", "muted")), (right,))]


def _factor_line(row: FactorRow, width: int, scale: float) -> Line:
    right: list[Piece] = [(row.value.rjust(_VALUE_CELLS), "warn strong" if row.lost_most else "")]
    if width >= _RUNNING_FROM:
        right.append(("  " + (fmt.score(row.running) if row.running is not None else "    "), "muted"))
    if width >= _BAR_FROM:
        bar = fmt.bar(row.running * scale) if row.running is not None else " " * fmt.BAR_CELLS
        right.append((" " + bar, "warn" if row.lost_most else "bar"))
    room = width - 2 - _NAME_CELLS - sum(fmt.width_of(text) for text, _ in right)
    why = next((words for words in (row.why, *row.shorter) if fmt.width_of(words) <= room), row.why)
    mark: Piece = (_SINK, "warn") if row.lost_most else (" ", "")
    return Line(
        (mark, (f"{row.name:<{_NAME_CELLS}}", "strong" if row.lost_most else ""), (why, "muted")),
        tuple(right),
    )


def _verdict(hit: Hit, width: int) -> Iterable[Line]:
    factors = hit.factors
    shown, floor = fmt.apart(factors.score, factors.floor)
    numbers = f"raw {fmt.number(factors.raw)}, shown {shown} {'≥' if factors.score >= factors.floor else '<'} {floor}"
    if hit.reason == "content_free":
        numbers = f"raw {fmt.number(factors.raw)}, never ranked"
    word: Piece = ("kept", "strong good") if hit.reason is None else ("dropped", "strong warn")
    if fmt.width_of(numbers) + len(word[0]) + 4 <= width:
        yield Line(((" ", ""), (numbers, ""), ("  ", ""), word))
    else:
        yield Line(((" ", ""), (numbers, "")))
        yield Line(((" ", ""), word))
    if hit.why:
        yield from _wrapped(f"{hit.stage}: {hit.why}" if hit.stage else hit.why, width)
    loss = largest_loss(factors)
    if loss is not None and hit.reason != "content_free":
        name, value = loss
        verb = "sank it" if hit.reason == "below_floor" else "cost most"
        amount = f"{fmt.number(value)} of the best" if name in MATCHES else f"× {fmt.number(value)}"
        yield from _wrapped(f"{_SINK} {name} {verb}: {amount}", width, "warn")


def _mmr(hit: Hit, report: SearchReport, width: int) -> Iterable[Line]:
    factors = hit.factors
    if factors.mmr is None:
        stage = next((stage for stage in report.stages if stage.name == "mmr"), None)
        yield from _named("mmr", "off" if stage is None or not stage.ran else "not ranked by it", width)
        return
    against = next((other for other in report.hits if other.id == factors.mmr_against), None)
    words = fmt.number(factors.mmr)
    if against is not None:
        words += f" against #{against.rank} {fmt.place(against.path, against.start_line, against.source)}"
    elif factors.mmr_against:
        words += f" against {factors.mmr_against.rsplit('/', 1)[-1]}"
    else:
        words += " chosen first"
    yield from _named("mmr", words, width)


def _not_run(report: SearchReport, width: int) -> Iterable[Line]:
    skipped = [stage for stage in report.stages if not stage.ran and stage.name != "mmr"]
    if skipped:
        yield Line()
        yield Line(rule="did not run")
        for stage in skipped:
            yield from _named(stage.name, stage.why, width)


def _named(name: str, words: str, width: int) -> list[Line]:
    """A name in its column and words beside it, wrapped within theirs."""
    rows = fmt.wrap(clean(words), max(4, width - 2 - _NAME_CELLS))
    return [
        Line(((" ", ""), (f"{'' if number else clean(name):<{_NAME_CELLS}}", "muted"), (row, "")))
        for number, row in enumerate(rows)
    ]


def _wrapped(sentence: str, width: int, look: str = "") -> list[Line]:
    return [Line(((" ", ""), (row, look))) for row in fmt.wrap(clean(sentence), max(4, width - 2))]
