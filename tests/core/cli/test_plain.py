"""Plain output: data on stdout, narration on stderr, nothing stored obeyed by a terminal."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.cli import evalout, render
from core.cli.console import width
from core.cli.hits import best_line
from core.cli.render import cells, cut, size, table
from core.embedding import FillReport
from core.evaluation.model import EvalReport
from core.index.model import DoctorReport, Finding
from core.store.layout import MEMORY_FILE
from tests.core.cli.conftest import AGED, CURATED, HERE, HOSTILE, LOG, REPORT, Cli, factors

SEARCH = """\
 1  1.00  W  MEMORY.md:24-31 #3  Token refresh
     Access tokens rotate every 15 minutes.

your agent does not find these
 S  sessions/x.md:2 #0  配置  CJK words
     令牌 刷新
"""
EXPLAIN = """\
 1  1.00  W  MEMORY.md:24-31 #3  Token refresh
     Access tokens rotate every 15 minutes.
     text    bm25 -7.310, among the candidates    1.000
     vector  not compared                             -
     merge   text alone                           1.000  1.000
     decay   curated, never ages                × 1.000  1.000
     source  workspace                          × 1.000  1.000
     access  2 recalls                          × 1.055  1.055
     raw 1.055, shown 1.000 ≥ floor 0.700: kept
     mmr off

candidates that fell out
 0.20  S  sessions/2026-07-17-auth-0a1b2c3d.md:1 #0  shown 0.20 is below the floor 0.70

your agent does not find these
 S  sessions/x.md:2 #0  配置  CJK words
     令牌 刷新

stages
 fts  ran      2 of 2 matches             0.4 ms
 knn  skipped  no embedding model is set  0.0 ms
"""
WHY = """\
sessions/2026-07-17-auth-0a1b2c3d.md:1 #0  not among the candidates
     bm25 place  57 of 210, cut at 18
     bm25        -0.500
     has         refresh
     lacks       token

     # Auth
     The refresh endpoint returned 401.
"""
LS = """\
/home/mona/.grok/memory  memory
     workspace         project                  MEMORY.md + logs
     Global                                               3.1 kB
  *  widgets-a3f7b2c9  acme/widgets, by remote             16 kB   1 log  6 new, 2 stranded
      W  MEMORY.md                              12 kB
      S  sessions/2026-07-17-auth-0a1b2c3d.md  4.1 kB
     odd-1f2e3d4c      ␛]0;owned␇␦2J⇄txt◌                    0 B  0 logs
      ! ␛]0;owned␇␦2J⇄txt◌.md is not UTF-8
  ! /home/mona/.grok/memory/old: the link leads nowhere
"""


def test_search_lists_hits_and_what_the_agent_misses(cli: Cli) -> None:
    ran = cli("search", "token", "refresh")
    assert (ran.code, ran.out) == (0, SEARCH)
    assert ran.err.splitlines() == [
        "1 of 2 candidates, 4 ms, text only, profile agent, widgets-a3f7b2c9",
        "1 fell out; --explain says why",
        "index behind by 2 files",
    ]


def test_explain_shows_every_factor_what_fell_out_and_the_stages(cli: Cli) -> None:
    assert cli("search", "--explain", "token refresh").out == EXPLAIN


def test_explain_words_vectors_decay_and_mmr(cli: Cli) -> None:
    aged = factors(
        bm25=None,
        text=None,
        vector=0.64,
        merged=0.448,
        decay=0.5,
        age_days=30.0,
        mmr=0.3,
        mmr_against=f"{LOG}:0",
    )
    cli.known["report"] = replace(
        REPORT, hits=(replace(CURATED, source="session", factors=aged),), dropped=()
    )
    out = cli("search", "--explain", "x").out
    for words in (
        "no word matched",
        "similarity",
        "vector alone",
        "30.0 days old, halves every 30",
        "mmr 0.300, measured against sessions/2026-07-17-auth-0a1b2c3d.md #0",
    ):
        assert words in out


def test_no_hits_is_done_and_says_why(cli: Cli) -> None:
    cli.known["report"] = replace(
        REPORT, hits=(), also=(), dropped=(), empty_reason="all below the floor .70"
    )
    ran = cli("search", "zebra")
    assert (ran.code, ran.out) == (0, "")
    assert "all below the floor .70" in ran.err


def test_options_reach_the_search(cli: Cli) -> None:
    cli(
        *(
            "search",
            "a",
            "b",
            "--limit",
            "3",
            "--min-score",
            "0.5",
            "--source",
            "session",
            "--source",
            "global",
        ),
        *("--source", "session", "--max-age", "2w", "--profile", "agent", "--everywhere"),
    )
    assert cli.asked() == [
        (
            "search",
            "a b",
            {
                "profile": "agent",
                "everywhere": True,
                "limit": 3,
                "min_score": 0.5,
                "sources": ("session", "global"),
                "max_age_days": 14.0,
            },
        )
    ]


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["search", "x", "--source", "sesion"], "One of: global, workspace, session."),
        (["search", "x", "--max-age", "soon"], "12h, 7d, 2w"),
        (["search", "x", "--min-score", "nan"], "not a number to compare with"),
        (["search", "x", "--limit", "0"], "greater than or equal to 1"),
        (["search"], "QUERY"),
        (["search", "x", "--explian"], "--explain"),
        (["why", "x"], "--chunk"),
        (["show"], "PATH"),
        (["clear", "everything"], "workspace, global or all"),
        (["shw"], "Did you mean 'show'?"),
        (["config"], "get, set, path"),
        (["config", "get", "ui.thme"], "Did you mean ui.theme?"),
    ],
)
def test_a_wrong_command_line_says_what_is_right(cli: Cli, argv: list[str], says: str) -> None:
    ran = cli(*argv)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err and ran.err.startswith("memdeck: ")


def test_why_gives_place_and_words(cli: Cli) -> None:
    ran = cli("why", "token", "refresh", "--chunk", "MEMORY.md#3")
    assert (ran.code, ran.out) == (0, WHY)
    assert cli.asked() == [("why", "token refresh", "MEMORY.md#3")]


def test_why_of_a_candidate_shows_its_factors(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from core.cli.hits import Where, waterfall

    lines = waterfall(AGED, Where("/r", ""))
    assert lines[-1] == "     raw 0.200, shown 0.200 < floor 0.700: shown 0.20 is below the floor 0.70"


def test_ls_shows_names_sizes_marks_and_problems(cli: Cli) -> None:
    ran = cli("ls", "--files")
    assert (ran.code, ran.out) == (0, LS)
    assert ran.err == "the agent uses memory-v2\n* origin is acme/widgets\n"


def test_show_numbers_lines_and_draws_controls(cli: Cli) -> None:
    ran = cli("show", MEMORY_FILE, "--from", "2", "--lines", "1")
    assert (ran.code, ran.out) == (0, "   2→␛]0;owned␇␦2J⇄txt◌\n")
    assert cli.asked() == [("read", MEMORY_FILE, 2, 1)]


def test_show_past_the_end_says_so(cli: Cli) -> None:
    ran = cli("show", MEMORY_FILE, "--from", "9")
    assert (ran.code, ran.out, ran.err) == (3, "", "memdeck: MEMORY.md has 3 lines, none from 9 on\n")
    assert cli("show", MEMORY_FILE, "--from", "9", "--json").code == 3
    assert "Exits 3" in cli("show", "--help").out


def test_what_is_not_there_is_exit_3_with_a_hint(cli: Cli) -> None:
    ran = cli("show", "gone.md")
    assert (ran.code, ran.out) == (3, "")
    hint = "PATH is absolute, or relative to the workspace or to the root; `memdeck ls --files` lists them."
    assert ran.err == f"memdeck: gone.md is not there\n  {hint}\n"


def test_reindex_reports_and_fails_when_another_holds_the_index(cli: Cli) -> None:
    ran = cli("reindex")
    assert (ran.code, cli.asked()) == (0, [("reindex", False)])
    assert ran.out == "41 files seen, 2 indexed; chunks: 3 added, 1 moved (0.25 s)\n"
    cli.known["behind"] = 2
    ran = cli("reindex")
    assert ran.code == 1 and "behind by 2 files" in ran.err


ANEW = "the text index was written anew: 178 chunks of 1 file (0.25 s)\n"


def test_a_rebuild_says_what_was_written_anew_unless_it_could_not(cli: Cli) -> None:
    ran = cli("reindex", "--rebuild")
    assert (ran.code, cli.asked()) == (0, [("reindex", True)])
    assert ran.out == f"41 files seen, 2 indexed; chunks: 3 added, 1 moved\n{ANEW}"
    cli.known["rebuilds"] = False
    assert "anew" not in cli("reindex", "--rebuild").out
    cli.known["rebuilds"] = True
    assert "anew" not in cli("reindex").out


def test_vectors_that_cannot_be_made_are_a_reason_and_no_counts(cli: Cli) -> None:
    cli.known["fill"] = FillReport(error="no embedding provider is set", hint="Set embedding.provider.")
    ran = cli("reindex", "--vectors")
    assert (ran.code, ran.err) == (1, "memdeck: no embedding provider is set\n  Set embedding.provider.\n")
    cli.known["fill"] = FillReport(stored=1, missing=2, error="the endpoint is gone")
    assert cli("reindex", "--vectors").err == (
        "1 text embedded, 0 without a vector, 2 missing\nstopped: the endpoint is gone\n"
    )


def test_a_query_without_a_word_to_search_for_is_described_truly(cli: Cli) -> None:
    cli.known["report"] = replace(REPORT, hits=(), empty_reason="only stop words")
    assert "only stop words, numbers and single letters\n" in cli("search", "1.0.21").err
    assert '"empty_reason": "only stop words"' in cli("search", "1.0.21", "--json").out


@pytest.mark.parametrize("chunk", ["MEMORY.md#12", "MEMORY.md:12", "MEMORY.md:1-4 #12"])
def test_a_number_past_the_last_chunk_says_how_many_there_are(cli: Cli, chunk: str) -> None:
    cli.known["unknown"] = True
    ran = cli("why", "x", "--chunk", chunk)
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.endswith("\n  MEMORY.md has 12 chunks, #0 to #11.\n")
    assert cli("why", "x", "--chunk", "MEMORY.md#11").err.endswith("\n  Ids are PATH:N.\n")


def test_a_candidate_it_was_measured_against_is_spelled_as_its_own_row(cli: Cli) -> None:
    measured = replace(CURATED, factors=factors(mmr=0.3, mmr_against=AGED.id))
    cli.known["report"] = replace(REPORT, hits=(measured,))
    out = cli("search", "--explain", "x").out
    assert out.count("sessions/2026-07-17-auth-0a1b2c3d.md:1 #0") == 2


def test_an_id_of_any_shape_is_drawn_and_not_obeyed(cli: Cli) -> None:
    odd = replace(
        CURATED, id=f"{HERE}/MEMORY.md:{HOSTILE}", factors=factors(mmr=0.3, mmr_against=f"x:{HOSTILE}")
    )
    cli.known["report"] = replace(REPORT, hits=(odd,))
    assert cli("search", "--explain", "x").out.replace("\n", "").isprintable()


def test_long_findings_are_wrapped(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    path = "/" + "p" * 90
    finding = Finding(
        "info", "privacy", f"what your agent recalls {path} " + "goes to its model " * 9, "Do it. " * 20
    )
    for columns, widest in (("", 80), ("70", 70)):
        monkeypatch.setenv("COLUMNS", columns)
        lines = render.doctor(DoctorReport((finding,)), width(80)).splitlines()
        assert all(len(line) <= widest for line in lines if path not in line)
        assert all(line.startswith(" " * 18) for line in lines[1:-1])
        assert " " * 18 + path in lines and len(lines) > 6


def test_an_evaluation_says_what_its_columns_mean() -> None:
    report = EvalReport("mine.toml", "", "all", 0, ())
    lines = evalout.evaluation(report, 90).splitlines()
    assert all(len(line) <= 110 for line in lines)
    legend = " ".join(lines)
    for word in ("recall@N:", "MRR:", "nDCG@10:", "forbidden:", "p50, p95:", "@5 − agent:"):
        assert word in legend


def test_the_limit_says_what_else_it_changes(cli: Cli) -> None:
    assert "3 × N candidates" in " ".join(cli("search", "--help").out.split())


def test_doctor_exits_1_when_something_is_wrong(cli: Cli) -> None:
    assert cli("doctor").code == 0
    cli.known["healthy"] = False
    ran = cli("doctor")
    assert ran.code == 1
    assert ran.out == (
        "ok       index     in step with 41 files\n"
        "ERROR    settings  a wrong key ␛]0;owned␇␦2J⇄txt◌\n"
        "                   Put it right.\n"
        "not healthy\n"
    )


def test_gc_only_reports_until_told(cli: Cli) -> None:
    ran = cli("gc")
    assert (ran.code, cli.asked()) == (0, [("gc", False)])
    assert ran.out == (
        "remove  tmp-1f2e3d4c      9 d  empty\nkeep    widgets-a3f7b2c9  1 d  it has real content\n"
    )
    assert cli("gc", "--remove").code == 2
    assert cli.asked() == [("gc", False)]
    assert cli("gc", "--remove", "--yes").code == 0
    assert cli.asked() == [("gc", False), ("gc", True)]


def test_clear_without_a_terminal_needs_yes_and_lists_what_would_go(cli: Cli) -> None:
    ran = cli("clear", "workspace")
    assert (ran.code, ran.out, cli.asked()) == (2, "", [])
    assert f"{HERE}/MEMORY.md" in ran.err and "--yes" in ran.err
    ran = cli("clear", "workspace", "--yes")
    assert ran.code == 0 and "kept in /state/trash/1" in ran.out
    cli.known["failed"] = ("index of api: in use, not yet",)
    ran = cli("clear", "all", "--yes")
    assert ran.code == 1 and "FAILED  index of api" in ran.out


def test_places_are_taken_before_and_after_the_verb_and_the_nearer_wins(cli: Cli, tmp_path: Path) -> None:
    first, second, cwd = (str(tmp_path / name) for name in "abc")
    for place in (first, second, cwd):
        Path(place).mkdir()
    cli("--root", first, "--workspace", "w", "ls", "--cwd", cwd)
    assert cli.opened == {"root": first, "workspace": "w", "cwd": cwd}
    cli("--root", first, "search", "x", "--root", second)
    assert cli.opened["root"] == second
    for argv in (["--root", "/a/memory", "config"], ["config", "--root", "/a/memory"]):
        assert "/a/config.toml" in cli(*argv, "path").out
    assert "/a/config.toml" in cli("config", "path", "--root", "/a/memory").out


def test_the_memory_is_closed_whatever_happens(cli: Cli) -> None:
    cli("show", "gone.md")
    assert cli.memory is not None and cli.memory.closed


def test_wrong_settings_are_named_and_the_verb_still_works(cli: Cli) -> None:
    Path(cli.environ["MEMDECK_CONFIG"]).write_text("[ui]\nthme = 'x'\n")
    ran = cli("search", "token")
    assert ran.code == 0 and ran.out == SEARCH
    assert ran.err.startswith(f"memdeck: {cli.environ['MEMDECK_CONFIG']}:2: ui.thme is not a setting")


def test_the_app_needs_a_terminal(cli: Cli) -> None:
    for argv in ([], ["--root", "/a"], ["demo"]):
        ran = cli(*argv)
        assert (ran.code, ran.out) == (2, "")
        assert "needs a terminal" in ran.err


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (12_400, "12 kB"),
        (1_250_000, "1.2 MB"),
        (3 * 10**12, "3000 GB"),
    ],
)
def test_sizes(count: int, words: str) -> None:
    assert size(count) == words


def test_wide_text_is_measured_and_cut_by_columns() -> None:
    assert (cells("配置"), cells("e\u0301"), cells("abc")) == (4, 1, 3)
    assert cut("配置配置", 5) == "配置…"
    assert table([["配", "x"], ["a", "y"]]) == ["配  x", "a   y"]
    assert table([]) == []


@pytest.mark.parametrize(
    ("snippet", "matched", "line"),
    [
        ("# T\nfirst\nsecond word", ["word"], "second word"),
        ("# Only a heading", ["x"], "# Only a heading"),
        ("[Context: A]\n\nbody", [], "body"),
        ("", [], ""),
    ],
)
def test_the_best_line(snippet: str, matched: list[Any], line: str) -> None:
    assert best_line(snippet, matched) == line


def test_a_line_feed_in_a_name_makes_no_line_of_its_own(cli: Cli) -> None:
    cli.known["report"] = replace(REPORT, workspace="ws\nforged: line")
    assert "\nforged" not in cli("search", "token").err
    assert "ws␤forged" in cli("search", "token").err
