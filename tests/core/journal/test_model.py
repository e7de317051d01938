"""Any sequence of edits, outside writes, looks, undos and reopenings: every byte stays, and all can be undone."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from core.journal.lines import hash_of
from core.journal.model import BASELINE, Change
from tests.core.journal.desk import Desk

paths = st.sampled_from(["MEMORY.md", "w-01234567/MEMORY.md", "w-01234567/sessions/\udcfe.md"])
texts = st.one_of(st.none(), st.sampled_from([b"", b"a\n", b"b\r\n"]), st.binary(max_size=60))


class AnyLife(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp(prefix="memdeck-journal-"))
        self.desk = Desk(self.place / "state")
        self.accepted: set[bytes] = set()
        self.first: dict[str, bytes] = {}

    @initialize(files=st.dictionaries(paths, st.binary(max_size=60), max_size=3))
    def first_look(self, files: dict[str, bytes]) -> None:
        for path, data in files.items():
            self.desk.put(path, data)
        self.first = dict(self.desk.files)
        self.look()

    def accept(self) -> None:
        self.accepted.update(self.desk.files.values())

    @rule()
    def look(self) -> None:
        self.desk.look()
        self.accept()
        assert self.desk.look() == ()
        assert self.known() == self.desk.files

    @rule(path=paths, data=texts)
    def somebody_else_writes(self, path: str, data: bytes | None) -> None:
        self.desk.put(path, data)

    @rule(path=paths, data=texts)
    def edit(self, path: str, data: bytes | None) -> None:
        if (there := self.desk.files.get(path)) is not None:
            self.accepted.add(there)
        self.desk.edit(path, data)
        if data is not None:
            self.accepted.add(data)

    @rule(old=paths, new=paths)
    def rename(self, old: str, new: str) -> None:
        files = self.desk.files
        if old == new or old not in files or new in files:
            return
        data = files[old]
        self.desk.journal.record_all(
            [Change(old, data, None, "user", "rename"), Change(new, None, data, "user", "rename")]
        )
        self.desk.put(old, None)
        self.desk.put(new, data)
        self.accepted.add(data)

    @rule(number=st.integers(0, 30))
    def undo_one(self, number: int) -> None:
        history = self.desk.journal.history(limit=100)
        plan = self.desk.plan(history[number % len(history)])
        if plan.possible and plan.steps:
            self.desk.apply(plan)
        else:
            assert all(one.path in self.desk.files or one.theirs is None for one in plan.refused)

    @rule(lose_index=st.booleans())
    def open_anew(self, lose_index: bool) -> None:
        self.desk.reopen()
        if lose_index:
            self.desk.journal.rebuild()

    @rule()
    def undo_everything(self) -> None:
        self.look()
        history = self.desk.journal.history(limit=10_000)
        if len(history) > 60:  # each time doubles it
            return
        for record in history:
            if record.action != BASELINE:
                self.desk.apply(self.desk.plan(record))
        assert self.desk.files == self.first
        assert self.desk.look() == ()

    @invariant()
    def every_accepted_byte_can_be_had(self) -> None:
        for data in self.accepted:
            assert self.desk.journal.text(hash_of(data)) == data

    def known(self) -> dict[str, bytes]:
        state = self.desk.journal.state_at(1e12)
        return {path: self.desk.journal.text(ident) for path, ident in state.items()}

    def teardown(self) -> None:
        try:
            verdict = self.desk.journal.verify()
            assert verdict.sound and verdict.unreferenced == 0
        finally:
            self.desk.journal.close()
            shutil.rmtree(self.place)


TestAnyLife = AnyLife.TestCase
TestAnyLife.settings = settings(max_examples=80, stateful_step_count=25, deadline=None)
