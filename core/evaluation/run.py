"""Evaluation room: asks every arm every judged query, and sums up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from core.embed.provider import Cancel
from core.errors import MemdeckError, UsageError
from core.evaluation.arms import BASE, Arm, standard_arms
from core.evaluation.bench import Bench, Subject, Wanted
from core.evaluation.judged import HALVES, JudgedQuery
from core.evaluation.misses import CUT, misses_of
from core.evaluation.model import Answer, ArmResult, EvalReport, Miss, Share
from core.search.metrics import Interval, Outcome, Summary, judge, paired_bootstrap, percentile, summarise

Progress = Callable[[int, int], object]


@dataclass(frozen=True, slots=True)
class Options:
    """What to measure besides the standard arms.  ``variants`` and ``sweeps`` as typed on a command line."""

    variants: tuple[str, ...] = ()
    ablate: bool = False
    sweeps: tuple[str, ...] = ()
    half: Share = "all"
    limit: int | None = None
    misses: bool = True
    arms: tuple[str, ...] = ()


@dataclass(slots=True)
class Course:
    """How far an evaluation is: told to ``progress`` query by query, and ended when ``cancel`` is set."""

    total: int
    progress: Progress | None = None
    cancel: Cancel | None = None
    done: int = 0

    def step(self) -> None:
        """One query is done.

        Raises:
            MemdeckError: the evaluation was stopped.
        """
        self.done += 1
        if self.cancel is not None and self.cancel.is_set():
            raise MemdeckError("the evaluation was stopped", data="Nothing was changed.")
        if self.progress is not None:
            self.progress(self.done, self.total)


def chosen(queries: Sequence[JudgedQuery], half: Share, limit: int | None) -> tuple[JudgedQuery, ...]:
    """The queries of a half; at most ``limit``, spread evenly over the file."""
    found = [query for query in queries if half in ("all", query.half)]
    if limit is None or limit >= len(found):
        return tuple(found)
    return tuple(found[place * len(found) // limit] for place in range(limit))


def evaluate(
    subject: Subject,
    queries: Sequence[JudgedQuery],
    options: Options | None = None,
    *,
    source: str = "",
    now: float | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> EvalReport:
    """Measure the arms on judged queries; ``now`` is when they are asked (default: the subject's clock).

    Raises:
        UsageError: a variant or sweep is wrong.
        SettingsError: a setting in one of them is wrong.
        MemdeckError: nothing is left to measure, the index cannot be searched, or it was stopped.
    """
    from core.evaluation.ablation import ablate
    from core.evaluation.arms import variant
    from core.evaluation.sweep import parse_sweep, sweep

    options = options or Options()
    moment = subject.now if now is None else now
    bench = Bench(subject)
    vectors, notes = _vectors(subject)
    arms = [*standard_arms(subject.settings, vectors=vectors)]
    if options.arms:
        arms = [arm for arm in arms if arm.name in options.arms]
    arms += [variant(text, subject.settings) for text in options.variants]
    names = [arm.name for arm in arms]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"two arms are called {name!r}", hint="Give the variant another name.")
    plans = [parse_sweep(text, subject.settings) for text in options.sweeps]
    if any(arm.grep for arm in arms) and not bench.can_grep():
        arms = [arm for arm in arms if not arm.grep]
        notes.append("more chunks than the grep arm can look through; it was left out")
    asked, lost = _findable(bench, chosen(queries, options.half, options.limit))
    notes += lost
    if not asked:
        raise MemdeckError(
            "none of the judged queries can be measured",
            hint="See that their paths and phrases are in this memory; `memdeck reindex` indexes it.",
            data="; ".join(notes)[:500],
        )
    both = _findable(bench, chosen(queries, "all", options.limit))[0] if plans else []
    course = Course(len(asked) * (1 + bool(options.ablate)) + len(both) * len(plans), progress, cancel)
    answers, misses, embedding, without = _answers(
        bench, arms, asked, moment, course, explain=options.misses, vectors=vectors
    )
    if without:
        notes.append(f"{len(without)} of {len(asked)} queries had no vector: {without[0]}")
    base = answers.get(BASE)
    return EvalReport(
        source=source,
        workspace=subject.workspace,
        half=options.half,
        queries=len(asked),
        arms=tuple(summed(arm, answers[arm.name], base) for arm in arms),
        misses=tuple(misses),
        ablation=ablate(bench, asked, moment, course, vectors=vectors) if options.ablate else (),
        sweeps=tuple(sweep(bench, plan, both, moment, course) for plan in plans),
        embedding=embedding if vectors else None,
        notes=tuple(notes),
    )


def _vectors(subject: Subject) -> tuple[bool, list[str]]:
    state = subject.embedder.state(subject.index)
    if state.state in ("complete", "filling", "failed") and state.stored:
        missing = [f"{state.missing} chunks have no vector yet"] if state.missing else []
        return True, missing
    reason = state.reason or "no vectors are stored yet"
    return False, [f"text only: {reason}", *([state.hint] if state.hint else [])]


def _findable(
    bench: Bench, queries: Sequence[JudgedQuery]
) -> tuple[list[tuple[JudgedQuery, Wanted]], list[str]]:
    """The queries whose chunks are in the memory, and sentences about what is not."""
    asked: list[tuple[JudgedQuery, Wanted]] = []
    lost: list[str] = []
    for query in queries:
        wanted = bench.wanted(query)
        lost += wanted.lost
        if wanted.relevant or (wanted.forbidden and not query.find):
            asked.append((query, wanted))
    return asked, [f"not in this memory any more: {text}" for text in lost]


Asked = Sequence[tuple[JudgedQuery, Wanted]]


def _answers(
    bench: Bench,
    arms: Sequence[Arm],
    asked: Asked,
    now: float,
    course: Course,
    *,
    explain: bool,
    vectors: bool,
) -> tuple[dict[str, list[Answer]], list[Miss], tuple[float, float], list[str]]:
    """Ask every arm every query; returns answers, misses, embedding times, and why queries have no vector."""
    answers: dict[str, list[Answer]] = {arm.name: [] for arm in arms}
    misses: list[Miss] = []
    embedding: list[float] = []
    without: list[str] = []
    for number, (query, wanted) in enumerate(asked):
        if vectors:
            taken, why = bench.embed(query)
            embedding.append(taken)
            without += [why] if why else []
        if number == 0:  # what the first search of a profile prepares belongs to no query
            for arm in arms:
                bench.ask(arm, query, now=now)
        # Each arm is first as often as the others, so that none always finds the pages read by another.
        turn = number % len(arms)
        for arm in (*arms[turn:], *arms[:turn]):
            got = bench.ask(arm, query, now=now)
            answers[arm.name].append(answer(query, wanted, got.ranked, got.milliseconds))
            if explain:
                misses += misses_of(bench, arm, query, wanted, got, now=now)
        course.step()
    order = {arm.name: place for place, arm in enumerate(arms)}
    number_of = {query.id: place for place, (query, _) in enumerate(asked)}
    misses.sort(key=lambda miss: (number_of[miss.query], order[miss.arm]))
    embedding.sort()
    return answers, misses, (percentile(embedding, 0.50), percentile(embedding, 0.95)), without


def answer(query: JudgedQuery, wanted: Wanted, ranked: Sequence[str], milliseconds: float = 0.0) -> Answer:
    """Judge a ranked list; chunks that overlap and hold the same phrase count once."""
    once = tuple(dict.fromkeys(wanted.same.get(chunk, chunk) for chunk in ranked))
    return Answer(query, once, judge(once, wanted.relevant, wanted.forbidden, milliseconds))


def ranked_by(bench: Bench, arm: Arm, asked: Asked, now: float, course: Course | None = None) -> list[Answer]:
    """The answers of one arm."""
    found = []
    for query, wanted in asked:
        bench.embed(query)
        found.append(answer(query, wanted, bench.ask(arm, query, now=now).ranked))
        if course is not None:
            course.step()
    return found


def of_share(answers: Sequence[Answer], share: Share) -> list[Outcome]:
    return [item.outcome for item in answers if share in ("all", item.query.half)]


def shares_of(answers: Sequence[Answer]) -> tuple[Share, ...]:
    """``all``, and the halves that are there when there are both."""
    halves = tuple(half for half in HALVES if any(item.query.half == half for item in answers))
    return ("all", *halves) if len(halves) == 2 else ("all",)


def difference(left: Sequence[Answer], right: Sequence[Answer], share: Share) -> Interval:
    """Recall@5 of ``left`` minus that of ``right``, with its interval."""
    return paired_bootstrap(
        [outcome.recall[CUT] for outcome in of_share(left, share)],
        [outcome.recall[CUT] for outcome in of_share(right, share)],
    )


def summed(arm: Arm, answers: Sequence[Answer], base: Sequence[Answer] | None) -> ArmResult:
    """Sum up one arm."""
    shares = shares_of(answers)
    classes: dict[str, Mapping[Share, float]] = {}
    for name in dict.fromkeys(item.query.cls for item in answers):
        of_class = [item for item in answers if item.query.cls == name]
        classes[name] = {
            share: recall_of(of_share(of_class, share)) for share in shares if of_share(of_class, share)
        }
    sums: dict[Share, Summary] = {share: summarise(of_share(answers, share)) for share in shares}
    against: dict[Share, Interval] = {}
    if base is not None and base is not answers:
        against = {share: difference(answers, base, share) for share in shares}
    return ArmResult(arm.name, arm.what, tuple(answers), sums, against, classes)


def recall_of(outcomes: Sequence[Outcome]) -> float:
    """Mean recall@5."""
    return sum(outcome.recall[CUT] for outcome in outcomes) / max(len(outcomes), 1)
