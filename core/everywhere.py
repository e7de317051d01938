"""Searching every workspace: each in its own index, merged by rank position, since scores do not compare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import TypeVar

from core.index.sync import Index
from core.search.report import Also, Hit, SearchReport
from core.searching import Searcher, SearchRequest
from core.store.layout import Root
from core.wording import plural

Place = tuple[Root, str, Index]
_Item = TypeVar("_Item", Hit, Also)


def search_everywhere(
    places: Sequence[Place],
    searcher: Searcher,
    request: SearchRequest,
    *,
    current: tuple[str, str],
    sync: bool = True,
) -> SearchReport:
    """Search each index that exists and interleave: all first places, then all second places, and so on.

    Global memory stands in every index but is shown once.  Workspaces without an index are counted and
    named, never given one.
    """
    reports: list[SearchReport] = []
    places_of: dict[str, str] = {}
    missing: list[str] = []
    ordered = sorted(places, key=lambda place: (place[0].path, place[1]) != current)
    for root, folder, index in ordered:
        if (root.path, folder) != current and not index.exists():
            missing.append(folder or root.name or root.path)
            continue
        report = _named(searcher.search(index, request, sync=sync), folder or root.name)
        items: tuple[Hit | Also, ...] = (*report.hits, *report.dropped, *report.also)
        for item in items:
            # Two indexes may spell one root in two ways.
            places_of[item.id] = index.to_disk(item.path) + item.id.removeprefix(item.path)
        reports.append(report)
    first = reports[0]
    hits = _once(
        places_of, (hit for row in zip_longest(*(report.hits for report in reports)) for hit in row if hit)
    )
    dropped = _once(places_of, (hit for report in reports for hit in report.dropped))
    kept = {places_of[hit.id] for hit in hits}
    also = _once(places_of, (item for report in reports for item in report.also))
    if first.mode == "newest":
        also.sort(key=lambda item: -item.created_at)
    notes = [
        f"{plural(len(reports), 'index', 'indexes')} searched; merged by rank position, since their scores do not compare"
    ]
    if missing:
        notes.append(
            f"not searched, since there is no index yet: {', '.join(missing[:6])}"
            + (f" and {len(missing) - 6} more" if len(missing) > 6 else "")
            + "; `memdeck reindex --workspace NAME` makes one"
        )
    for report in reports:
        notes += [note for note in report.notes if note not in notes]
    if first.mode == "newest" and request.limit is not None:
        also = also[: request.limit]
    if request.limit is not None and len(hits) > request.limit:
        limit = request.limit
        dropped = [
            *(
                replace(
                    hit, rank=0, reason="cut", stage="cut",
                    why=f"place {place} of all workspaces, after the {limit} results that are shown",
                )
                for place, hit in enumerate(hits[limit:], limit + 1)
            ),
            *dropped,
        ]  # fmt: skip
        hits = hits[:limit]
        kept = {places_of[hit.id] for hit in hits}
    ranked = tuple(replace(hit, rank=rank) for rank, hit in enumerate(hits, 1))
    reasons = [report.empty_reason for report in reports if report.empty_reason]
    return replace(
        first,
        hits=ranked,
        dropped=tuple(hit for hit in dropped if places_of[hit.id] not in kept),
        also=tuple(item for item in also if places_of[item.id] not in kept),
        notes=tuple(notes),
        everywhere=True,
        empty_reason="" if ranked or (first.mode == "newest" and also) else (reasons[0] if reasons else ""),
    )


def _named(report: SearchReport, name: str) -> SearchReport:
    def own(item: Hit) -> Hit:
        return replace(item, workspace="" if item.source == "global" else name)

    return replace(
        report,
        hits=tuple(own(hit) for hit in report.hits),
        dropped=tuple(own(hit) for hit in report.dropped),
        also=tuple(replace(item, workspace=name) for item in report.also),
    )


def _once(places_of: Mapping[str, str], items: Iterable[_Item]) -> list[_Item]:
    seen: dict[str, _Item] = {}
    for item in items:
        seen.setdefault(places_of[item.id], item)
    return list(seen.values())
