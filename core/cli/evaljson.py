"""The JSON of ``memdeck eval --json``, written out key by key (docs/json.md)."""

from __future__ import annotations

from collections.abc import Mapping

from core.cli.jsonout import Json
from core.evaluation.model import Ablation, ArmResult, EvalReport, Miss, Share, Sweep
from core.search.metrics import Interval, Summary


def evaluation(report: EvalReport) -> Json:
    """``memdeck eval --json``."""
    p50, p95 = report.embedding or (None, None)
    return {
        "file": report.source,
        "workspace": report.workspace,
        "half": report.half,
        "queries": report.queries,
        "arms": [arm(item) for item in report.arms],
        "misses": [miss(item) for item in report.misses],
        "ablation": [ablation(item) for item in report.ablation],
        "sweeps": [sweep(item) for item in report.sweeps],
        "embedding_ms": {"p50": p50, "p95": p95},
        "notes": list(report.notes),
    }


def arm(item: ArmResult) -> Json:
    return {
        "name": item.name,
        "what": item.what,
        "shares": {share: summary(values) for share, values in item.shares.items()},
        "against_agent": intervals(item.against),
        "classes": {name: dict(values) for name, values in item.classes.items()},
        "answers": [
            {
                "query": answer.query.id,
                "text": answer.query.text,
                "class": answer.query.cls,
                "half": answer.query.half,
                "ranked": list(answer.ranked),
                "recall": {str(cut): value for cut, value in answer.outcome.recall.items()},
                "reciprocal_rank": answer.outcome.reciprocal_rank,
                "ndcg": answer.outcome.ndcg,
                "forbidden": answer.outcome.forbidden,
                "ms": answer.outcome.milliseconds,
            }
            for answer in item.answers
        ],
    }


def summary(values: Summary) -> Json:
    return {
        "queries": values.queries,
        "recall": {str(cut): value for cut, value in values.recall.items()},
        "mrr": values.mrr,
        "ndcg": values.ndcg,
        "forbidden": values.forbidden,
        "p50_ms": values.p50_ms,
        "p95_ms": values.p95_ms,
    }


def interval(value: Interval) -> Json:
    return {"mean": value.mean, "low": value.low, "high": value.high}


def intervals(values: Mapping[Share, Interval]) -> Json:
    return {share: interval(value) for share, value in values.items()}


def miss(item: Miss) -> Json:
    return {
        "query": item.query,
        "arm": item.arm,
        "chunk": item.chunk,
        "stage": item.stage,
        "why": item.why,
    }


def ablation(item: Ablation) -> Json:
    return {
        "formula": item.formula,
        "stage": item.stage or None,
        "what": item.what,
        "recall": dict(item.recall),
        "adds": intervals(item.adds),
        "ndcg": dict(item.ndcg),
        "forbidden": item.forbidden,
    }


def sweep(item: Sweep) -> Json:
    return {
        "key": item.key,
        "profile": item.profile,
        "current": item.current,
        "chosen": item.chosen,
        "gain": interval(item.gain),
        "values": [
            {"value": row.value, "tuning": summary(row.tuning), "held-out": summary(row.held_out)}
            for row in item.rows
        ],
    }
