"""``memdeck config``: where the files are, every value with where it comes from, and changing one."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from core.cli.console import State, out, say, say_problems
from core.cli.options import AsJson, Cwd, Root, Workspace, Yes, confirmed, located
from core.errors import UsageError
from core.safetext import visible, visible_line

config = typer.Typer(
    rich_markup_mode=None,
    invoke_without_command=True,
    help="""List settings, change one, find the files.

    \b
    memdeck config get
    memdeck config get search.min_score
    memdeck config set search.max_results 8
    memdeck config path
    """,
)


@config.callback()
def group(ctx: typer.Context, root: Root = None, workspace: Workspace = None, cwd: Cwd = None) -> None:
    ctx.obj = ctx.obj.at(root, workspace, cwd)
    if ctx.invoked_subcommand is None:
        raise UsageError("`memdeck config` needs one of get, set, path")


@config.command()
@located
def path(state: State) -> None:
    """Print where config, state and caches lie."""
    from core.cli.render import table
    from core.store.paths import cache_dir, state_dir

    settings = state.settings()
    places = [
        ("agent", settings.agent_file or ""),
        ("memdeck", settings.own_file),
        ("state", str(state_dir(state.environ))),
        ("cache", str(cache_dir(state.environ))),
    ]
    rows = [
        [name, visible_line(place) or "none", "" if os.path.exists(place) else "not there yet"]
        for name, place in places
    ]
    out("\n".join(table(rows)))
    for note in settings.notes:
        say(note)


@config.command()
@located
def get(
    state: State,
    key: Annotated[str | None, typer.Argument(metavar="KEY", hidden=True)] = None,
    as_json: AsJson = False,
) -> None:
    """List values, and where each comes from.

    \b
    memdeck config get
    memdeck config get search.min_score

    With KEY that value alone; short forms such as search.min_score will do.
    """
    from core.cli import jsonout
    from core.cli.render import table
    from core.settings import SettingRow, find_key
    from core.settings.keys import shown

    settings = state.settings()
    if key is not None:
        spec = find_key(key)
        row = SettingRow(spec.key, settings.value(key), settings.origin(key), spec.help)
        if as_json:
            out(jsonout.dumps(jsonout.setting(row)))
        elif row.value is not None:  # a text without its quotes, as a script wants it
            out(visible(row.value) if isinstance(row.value, str) else shown(row.value))
        if not as_json:
            say(f"{row.key}{' is unset' if row.value is None else ''}: {row.help} ({row.origin})")
        say_problems(settings)
        return
    rows = settings.rows()
    if as_json:
        problems = [
            {
                "file": item.file,
                "line": item.line,
                "key": item.key,
                "nearest": item.nearest,
                "text": str(item),
            }
            for item in settings.problems
        ]
        settings_json = [jsonout.setting(row) for row in rows]
        out(jsonout.dumps({"settings": settings_json, "problems": problems, "notes": list(settings.notes)}))
        return
    out(
        "\n".join(
            table([row.key, visible_line(shown(row.value)), visible_line(str(row.origin))] for row in rows)
        )
    )
    for note in settings.notes:
        say(note)
    say_problems(settings)


@config.command(name="set")
@located
def set_(
    state: State,
    key: Annotated[str, typer.Argument(metavar="KEY", hidden=True)],
    value: Annotated[str, typer.Argument(metavar="VALUE", hidden=True)],
    yes: Yes = False,
) -> None:
    """Change one setting.

    \b
    memdeck config set search.max_results 8
    memdeck config set ui.theme memdeck-light --yes

    In the file it belongs to, after showing the change; comments and layout stay.
    """
    from core.settings import apply, set_setting

    change = set_setting(state.settings(), key, value)
    if not change.changed:
        say(f"{change.key} is {change.after} in {change.file} already.")
        return
    say(change.diff)
    if not confirmed(f"Write {change.file}?", (), yes=yes):
        say("Nothing was written.")
        raise typer.Exit(1)
    state.course.changing = True
    apply(change)
    say(f"{change.key} is now {change.after} (was {change.before}).")
    origin = state.settings().origin(key)
    if origin.kind == "environment":
        say(f"The {origin} is set and wins over the file.")
