"""Evaluation room: what each stage of a formula adds — the formula with it, and without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from core.evaluation.arms import Arm, with_value
from core.evaluation.bench import Bench
from core.evaluation.model import Ablation, Answer, Share
from core.evaluation.run import Asked, Course, difference, of_share, ranked_by, recall_of, shares_of
from core.search.metrics import summarise
from core.search.tuned import TunedParams
from core.settings import Settings

_NO_DECAY = (("search.temporal_decay.enabled", "false"), ("search.recency_decay", "0.95"))
_EVEN = tuple((f"search.source_weights.{name}", "1") for name in ("workspace", "session", "global"))


def without_stages(arm: Arm, *, vectors: bool) -> list[tuple[str, str, Arm]]:
    """The stages of an arm's formula: (name, what is done instead, the arm without it)."""
    return _tuned_stages(arm, vectors=vectors) if arm.profile == "tuned" else _agent_stages(arm, vectors)


def _agent_stages(arm: Arm, vectors: bool) -> list[tuple[str, str, Arm]]:
    leave = [
        ("curated arm", "one pass over the matches, curated sources have none of their own", "curated"),
        ("content-free", "chunks of headings and comments alone may rank", "content"),
        ("access", "recalls count nothing", "access"),
    ]
    stages = [(name, what, replace(arm, without=arm.without | {part})) for name, what, part in leave]
    if arm.profile == "hybrid" and vectors:
        stages.insert(0, ("vectors", "words alone", replace(arm, embed=False)))
        stages.insert(1, ("words", "the nearest vectors alone", replace(arm, without=frozenset({"text"}))))
    stages.append(("decay", "logs do not age", _with(arm, _NO_DECAY)))
    if any(weight != 1.0 for weight in arm.settings.search.source_weights.values()):
        stages.append(("source weight", "every source counts 1", _with(arm, _EVEN)))
    on = arm.settings.search.mmr.enabled
    other = _with(arm, (("search.mmr.enabled", "false" if on else "true"),))
    stages.append(("MMR", "by score alone" if on else "it is off; here it is on instead", other))
    return stages


def _tuned_stages(arm: Arm, *, vectors: bool) -> list[tuple[str, str, Arm]]:
    def other(**changed: object) -> Arm:
        tuned: TunedParams = replace(arm.tuned, **changed)  # type: ignore[arg-type]
        return replace(arm, tuned=tuned)

    stages = [
        ("word index", "words as written, over the agent's own index", other(plain=True)),
        ("identifier parts", "camelCase is one word", other(identifiers=False)),
        ("character pairs", "CJK and Thai runs are one word", other(pairs=False)),
        ("heading weight", "a heading counts as any line", other(heading=1.0)),
        ("proximity", "words count wherever they stand", other(near=0)),
        ("units", "identifiers and phrases as written count nothing more", other(units=0.0)),
        ("trust", "marks count nothing", other(superseded=1.0, disputed=1.0)),
        ("decay", "logs do not age", other(half_life_days=None)),
    ]
    if vectors:
        stages[:0] = [
            ("words", "vectors alone", other(text=0.0, units=0.0)),
            ("chunk vectors", "no vector of the whole chunk counts", other(vector=0.0)),
            ("passage vectors", "no vectors of single passages", other(passage=0.0)),
            ("all vectors", "words alone", replace(arm, embed=False)),
        ]
    return stages


def _with(arm: Arm, pairs: Sequence[tuple[str, str]]) -> Arm:
    for key, value in pairs:
        arm = with_value(arm, key, value)
    return arm


def formulas(settings: Settings, *, vectors: bool) -> list[Arm]:
    """The formulas whose stages are measured."""
    names = ("agent", "hybrid", "tuned") if vectors else ("agent", "tuned")
    return [Arm(name, "", settings, name) for name in names]


def ablate(
    bench: Bench, asked: Asked, now: float, course: Course | None = None, *, vectors: bool
) -> tuple[Ablation, ...]:
    """Measure every stage of every formula, ranking alone."""
    arms = [
        (base, stages)
        for base in formulas(bench.subject.settings, vectors=vectors)
        for stages in [without_stages(base, vectors=vectors)]
    ]
    # Query by query, so that each is embedded once.
    found: dict[tuple[str, str], list[Answer]] = {}
    for one in asked:
        for base, stages in arms:
            found.setdefault((base.name, ""), []).extend(ranked_by(bench, base, [one], now))
            for stage, _, arm in stages:
                found.setdefault((base.name, stage), []).extend(ranked_by(bench, arm, [one], now))
        if course is not None:
            course.step()
    rows: list[Ablation] = []
    for base, stages in arms:
        whole = found[base.name, ""]
        rows.append(_row(base.name, "", "everything", whole, whole))
        rows += [_row(base.name, stage, what, whole, found[base.name, stage]) for stage, what, _ in stages]
    return tuple(rows)


def _row(formula: str, stage: str, what: str, whole: list[Answer], left: list[Answer]) -> Ablation:
    shares: tuple[Share, ...] = shares_of(whole)
    return Ablation(
        formula=formula,
        stage=stage,
        what=what,
        recall={share: recall_of(of_share(left, share)) for share in shares},
        adds={share: difference(whole, left, share) for share in shares},
        ndcg={share: summarise(of_share(left, share)).ndcg for share in shares},
        forbidden=summarise(of_share(left, "all")).forbidden,
    )
