"""Plain tables of an evaluation: the arms, the classes of queries, what was missed, ablation and sweeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.cli.render import cut, table, wrapped
from core.evaluation.model import EvalReport, Share
from core.safetext import visible_line
from core.search.metrics import Interval
from core.wording import plural

_STAGES = {"content": "content-free", "words": "no shared word", "bm25": "BM25 place", "near": "not near"}

_LEGEND = (
    "recall@N: the share of the right chunks that is among the first N. MRR: 1 / the place of the first right one. "
    "nDCG@10: how far up the right ones stand. All three are means over the queries, 1 is best. forbidden: hits "
    "among the first five that were judged wrong. p50, p95: milliseconds of one search. @5 − agent: recall@5 minus "
    "that of the arm agent, with its interval."
)


def evaluation(report: EvalReport, width: int) -> str:
    """The whole report, tables one under the other."""
    parts = [_arms(report, width), _halves(report), _classes(report), _misses(report, width)]
    parts += [_ablation(report), *(_sweeps(report))]
    return "\n\n".join(part for part in parts if part)


def _arms(report: EvalReport, width: int) -> str:
    head = [
        "arm",
        "recall@1",
        "@3",
        "@5",
        "@10",
        "MRR",
        "nDCG@10",
        "forbidden",
        "p50 ms",
        "p95 ms",
        "@5 − agent",
    ]
    rows = [head]
    for arm in report.arms:
        all_ = arm.shares["all"]
        rows.append(
            [
                visible_line(arm.name),
                *(f"{all_.recall[at]:.3f}" for at in (1, 3, 5, 10)),
                f"{all_.mrr:.3f}",
                f"{all_.ndcg:.3f}",
                str(all_.forbidden),
                f"{all_.p50_ms:.1f}",
                f"{all_.p95_ms:.1f}",
                _interval(arm.against.get("all")),
            ]
        )
    title = plural(report.queries, "query", "queries")
    if report.half != "all":
        title += f" of the half {report.half}"
    return "\n".join([title, *table(rows, right=range(1, 10)), "", *wrapped(_LEGEND, width)])


def _interval(value: Interval | None) -> str:
    return "" if value is None else f"{value.mean:+.3f} [{value.low:+.3f}, {value.high:+.3f}]"


def _halves(report: EvalReport) -> str:
    shares = [share for share in report.arms[0].shares if share != "all"] if report.arms else []
    if not shares:
        return ""
    rows = [["recall@5 by half", *(cell for share in shares for cell in (share, "− agent"))]]
    for arm in report.arms:
        cells = [
            cell
            for share in shares
            for cell in (f"{arm.shares[share].recall[5]:.3f}", _interval(arm.against.get(share)))
        ]
        rows.append([visible_line(arm.name), *cells])
    return "\n".join(table(rows, right=(1, 3)))


def _classes(report: EvalReport) -> str:
    names = list(dict.fromkeys(name for arm in report.arms for name in arm.classes))
    if len(names) < 2:
        return ""
    rows = [["recall@5 by class", *(visible_line(arm.name) for arm in report.arms)]]
    for name in names:
        cells = [f"{arm.classes[name]['all']:.2f}" if name in arm.classes else "" for arm in report.arms]
        rows.append([visible_line(name), *cells])
    return "\n".join(table(rows, right=range(1, len(report.arms) + 1)))


def _misses(report: EvalReport, width: int) -> str:
    """One row a query: the stage that lost its first missing chunk, for each arm that missed one."""
    shown = [arm.name for arm in report.arms if arm.name not in ("text only", "vectors only", "grep")]
    stages: dict[str, dict[str, str]] = {}
    for miss in report.misses:
        if miss.arm in shown:
            stage = _STAGES.get(miss.stage, miss.stage)
            stages.setdefault(miss.query, {}).setdefault(miss.arm, stage)
    if not stages:
        return ""
    texts = {answer.query.id: answer.query.text for answer in report.arms[0].answers}
    rows = [["missed among the first 5, and where it was lost", *map(visible_line, shown)]]
    room = max(30, width - 18 * len(shown))
    for query, by_arm in stages.items():
        name = cut(f"{visible_line(query)} {visible_line(texts[query])}", room)
        rows.append([name, *(by_arm.get(arm, "·") for arm in shown)])
    return "\n".join(table(rows))


def _ablation(report: EvalReport) -> str:
    if not report.ablation:
        return ""
    shares: list[Share] = list(report.ablation[0].recall)
    head = ["ablation", "recall@5 without", "nDCG@10"]
    head += [f"adds ({share})" for share in shares] + ["forbidden", "instead"]
    rows = [head]
    for item in report.ablation:
        name = f"{item.formula} − {item.stage}" if item.stage else item.formula
        adds = [_interval(item.adds[share]) if item.stage else "" for share in shares]
        rows.append(
            [
                name,
                f"{item.recall['all']:.3f}",
                f"{item.ndcg['all']:.3f}",
                *adds,
                str(item.forbidden),
                item.what,
            ]
        )
    return "\n".join(table(rows, right=(1, 2, 3 + len(shares))))


def _sweeps(report: EvalReport) -> Sequence[str]:
    parts = []
    for item in report.sweeps:
        rows = [[item.key, "tuning @5", "nDCG", "held-out @5", "nDCG", ""]]
        marks: Mapping[str, str] = {item.current: "now"}
        for row in item.rows:
            mark = marks.get(row.value, "")
            if row.value == item.chosen:
                mark = f"{mark}, chosen on the tuning half".removeprefix(", ")
            values = [row.tuning.recall[5], row.tuning.ndcg, row.held_out.recall[5], row.held_out.ndcg]
            rows.append([visible_line(row.value), *(f"{value:.3f}" for value in values), mark])
        if item.chosen == item.current:
            verdict = "What it is now is the best on the tuning half."
        else:
            verdict = f"On the held-out half {item.chosen} − {item.current}: {_interval(item.gain)}."
        parts.append("\n".join([*table(rows, right=(1, 2, 3, 4)), verdict]))
    return parts
