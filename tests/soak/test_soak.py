"""The soak, for a few seconds: an agent and two who look on one memory, and nothing lost at the end."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from tests.soak.soak import WORKSPACE, bring_in_step, differences, picture, prepare, soak, unsound


@pytest.mark.xdist_group("soak")
@pytest.mark.parametrize("app", [False, True], ids=["two readers", "the app and a reader"])
def test_nothing_fails_or_is_lost_while_an_agent_writes(tmp_path: Path, app: bool) -> None:
    outcome = soak(tmp_path.resolve(), 4.0, app=app)
    assert outcome.failures == []
    assert int(str(outcome.deeds["writes"])) > 10
    assert outcome.deeds["indexed"]
    assert all(seen["mode"] == "live" for seen in outcome.readers.values())


def test_the_comparison_sees_what_it_is_there_to_see(tmp_path: Path) -> None:
    root = prepare(tmp_path.resolve())
    bring_in_step(root, tmp_path, [])
    database = root / WORKSPACE / "index.sqlite"
    words = ["steadfast", "kiosk"]
    sound = picture(database, words)
    assert len(sound.rows) > 100
    assert sound.found["steadfast"]
    assert unsound(database) == []
    assert differences(sound, sound) == []

    connection = apsw.Connection(str(database))
    connection.execute("UPDATE chunks SET start_line=start_line+1 WHERE source='global'")
    assert {said.split(":")[0] for said in differences(picture(database, words), sound)} == {
        "only in the kept index",
        "missing in the kept index",
    }
    connection.execute("UPDATE chunks SET start_line=start_line-1 WHERE source='global'")
    connection.execute("INSERT INTO chunks_fts(rowid, text) VALUES(99999, 'steadfast')")
    assert any(said.startswith("'steadfast' finds") for said in differences(picture(database, words), sound))
    connection.execute("DELETE FROM memdeck_gram_rows WHERE rowid=1")
    assert any("pair index" in said for said in differences(picture(database, words), sound))
    connection.close()
