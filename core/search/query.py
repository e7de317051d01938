"""Search room: what a typed query means — keywords as the agent extracts them, units, filters (pure)."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass, field

from core.index.grams import UNSPACED_RUN
from core.rust_text import byte_len, is_numeric, lower, words

# Function words, request phrases and time words that the agent drops from a query.  Which words those are
# is settled by the recorded vectors; the groups are only for the reader.
STOP_WORDS: frozenset[str] = frozenset(
    """
    a an the this that these those
    i me my mine we us our ours you your yours he him his she her hers it its they them their theirs
    am is are was were be been being have has had having do does did doing done
    will would shall should can could may might must
    and or but if then else so than because while not no nor yes
    in on at to for of with by from about into onto over between through during before after above below
    as up out
    what which who whom whose when where why how
    all any both each every few more most some such one other only own same too very just
    here there now today yesterday tomorrow earlier later recently ago
    thing things stuff something anything everything nothing
    please help find show get got tell give make
    """.split()
)

_FILTER = re.compile(r"(?<!\S)(source|age|path|trust|valid):(\"[^\"]*\"|\S*)", re.IGNORECASE)
_QUOTED = re.compile(r"\"([^\"]+)\"")
# A unit is written without blanks and joined by marks that the tokenizer would split at.  It begins where a
# word does and gives nothing back, so that a pasted text is read in one pass.
_IDENTIFIER = re.compile(r"(?<!\w)(?:@?\w++(?:[-./:@#+\\]++\w++)+|@\w++)", re.UNICODE)
_NUMBER = re.compile(r"(?<!\w)\d++(?!\w)")

KEYWORD_LIMIT = 1_000
UNIT_LIMIT = 64
UNIT_CHARS = 400
"""What of a pasted text is searched: FTS5 needs milliseconds for each word on a large index."""


@dataclass(frozen=True, slots=True)
class Filters:
    """The narrowing part of a query; empty fields narrow nothing.  Ages are in days.

    ``paths`` are looked for, without case, in what follows the root of the memory: ``under``, which is no
    filter itself.
    """

    sources: tuple[str, ...] = ()
    max_age_days: float | None = None
    min_age_days: float | None = None
    paths: tuple[str, ...] = ()
    trust: tuple[str, ...] = ()
    valid: str | None = None
    under: str = field(default="", compare=False)

    def __bool__(self) -> bool:
        return bool(
            self.sources
            or self.paths
            or self.trust
            or self.valid
            or self.max_age_days is not None
            or self.min_age_days is not None
        )


@dataclass(frozen=True, slots=True)
class Query:
    """A typed query taken apart.  Nothing a person types is a syntax error.

    ``text`` is the query without its filters; ``keywords`` as the agent extracts them; ``all_words`` every
    word of it; ``units`` what must be found as written: (kind, text) with kind one of ``phrase``,
    ``identifier``, ``number``; ``unspaced`` runs of two and more characters of Han, Kana, Hangul or Thai.
    ``warnings`` names filters that could not be understood and were left out.
    """

    raw: str
    text: str
    keywords: tuple[str, ...]
    all_words: tuple[str, ...]
    units: tuple[tuple[str, str], ...] = ()
    unspaced: tuple[str, ...] = ()
    filters: Filters = field(default_factory=Filters)
    warnings: tuple[str, ...] = ()


def extract_keywords(text: str) -> list[str]:
    """Return the agent's keywords of a query, in order.

    Lower-case, split on anything but alphanumerics and ``_`` (the reference's character classes); dropped:
    shorter than two bytes, stop words, numbers, repeats.
    """
    seen: dict[str, None] = {}
    for word in words(lower(text)):
        if byte_len(word) < 2 or word in STOP_WORDS or is_numeric(word):
            continue
        seen.setdefault(word)
    return list(seen)


def fts_any(terms: list[str] | tuple[str, ...]) -> str:
    """An FTS5 expression that matches any of the terms, each quoted."""
    return " OR ".join(_quote(term) for term in terms)


def fts_all(terms: list[str] | tuple[str, ...]) -> str:
    """An FTS5 expression that matches all of the terms, each quoted (several words: as a phrase)."""
    return " AND ".join(_quote(term) for term in terms)


def _quote(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'


def parse_query(raw: str) -> Query:
    """Take a typed query apart; unknown or malformed filters become warnings, never errors."""
    raw = raw.replace("\x00", " ").encode("utf-8", "replace").decode("utf-8")
    filters, text, warnings = _parse_filters(raw)
    every = tuple(dict.fromkeys(words(lower(text))))
    keywords = extract_keywords(text)
    units = _units(text)
    unspaced = list(dict.fromkeys(UNSPACED_RUN.findall(text)))
    if len(keywords) > KEYWORD_LIMIT:
        warnings.append(
            f"the query has {len(keywords):,} different words; only the first {KEYWORD_LIMIT:,} are searched"
        )
    short = [unit for unit in units if len(unit[1]) <= UNIT_CHARS][:UNIT_LIMIT]
    runs = list(dict.fromkeys(run[:UNIT_CHARS] for run in unspaced[:UNIT_LIMIT]))
    if len(short) < len(units) or runs != unspaced:
        warnings.append(
            f"not everything is searched as it is written: only the first {UNIT_LIMIT} names, numbers and quoted "
            f"phrases of at most {UNIT_CHARS} characters"
        )
    return Query(
        raw=raw,
        text=text,
        keywords=tuple(keywords[:KEYWORD_LIMIT]),
        all_words=every[:KEYWORD_LIMIT],
        units=tuple(short),
        unspaced=tuple(runs),
        filters=filters,
        warnings=tuple(warnings),
    )


def _units(text: str) -> tuple[tuple[str, str], ...]:
    units: dict[tuple[str, str], None] = {}
    for phrase in _QUOTED.findall(text):
        if len(words(phrase)) >= 1:
            units[("phrase", phrase.strip())] = None
    rest = _QUOTED.sub(" ", text)
    for match in _IDENTIFIER.finditer(rest):
        units[("identifier", match.group())] = None
    for number in _NUMBER.findall(_IDENTIFIER.sub(" ", rest)):
        units[("number", number)] = None
    return tuple(units)


_AGE = re.compile(r"([<>]?)=?(\d+(?:\.\d+)?)([hdwmy]?)", re.IGNORECASE | re.ASCII)
_UNIT_DAYS = {"h": 1 / 24, "": 1.0, "d": 1.0, "w": 7.0, "m": 30.0, "y": 365.0}


def parse_age(text: str) -> tuple[str, float] | None:
    """Read ``<7d``, ``>2w``, ``3d`` (days when no unit) as (sign, days); None when it is no age."""
    match = _AGE.fullmatch(text.strip())
    if match is None:
        return None
    sign, number, unit = match.groups()
    return (sign or "<", float(number) * _UNIT_DAYS[unit.lower()])


def _parse_filters(raw: str) -> tuple[Filters, str, list[str]]:
    sources: list[str] = []
    paths: list[str] = []
    trust: list[str] = []
    valid: str | None = None
    max_age: float | None = None
    min_age: float | None = None
    warnings: list[str] = []
    kept: list[str] = []
    position = 0
    for match in _FILTER.finditer(raw):
        key = match.group(1).lower()
        value = match.group(2).strip('"')
        if not value:
            continue  # still being typed
        understood = True
        if key == "source":
            letters = {"g": "global", "w": "workspace", "s": "session", "sessions": "session"}
            names = [letters.get(name, name) for name in value.lower().split(",") if name]
            known = [name for name in names if name in ("global", "workspace", "session")]
            understood = len(known) == len(names)
            sources += known
        elif key == "age":
            age = parse_age(value)
            understood = age is not None
            if age is not None and age[0] == "<":
                max_age = age[1]
            elif age is not None:
                min_age = age[1]
        elif key == "path":
            paths.append(value)
        elif key == "trust":
            trust += [name for name in value.lower().split(",") if name]
            understood = all(
                name in ("verified", "disputed", "superseded", "none") for name in value.lower().split(",")
            )
        else:
            valid = value.lower()
            understood = valid == "now" or _is_day(valid)
            valid = valid if understood else None
        if not understood:
            warnings.append(f"{key}:{value[:80]} is not a filter memdeck knows; it was left out")
        kept.append(raw[position : match.start()])
        position = match.end()
    kept.append(raw[position:])
    filters = Filters(
        sources=tuple(dict.fromkeys(sources)),
        max_age_days=max_age,
        min_age_days=min_age,
        paths=tuple(paths),
        trust=tuple(name for name in dict.fromkeys(trust) if name in _TRUST),
        valid=valid,
    )
    return filters, " ".join("".join(kept).split(" ")).strip(), warnings


def _is_day(text: str) -> bool:
    try:
        return re.fullmatch(r"\d{4}-\d{2}-\d{2}", text, re.ASCII) is not None and bool(
            dt.date.fromisoformat(text)
        )
    except ValueError:
        return False


_TRUST = frozenset({"verified", "disputed", "superseded", "none"})
