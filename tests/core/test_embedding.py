"""Vectors over the facade: filled in the background, never written back for what is gone, paused when the model changed."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from core.embed.provider import (
    Cancel,
    PassingError,
    Progress,
    Provider,
    RefusedVector,
    Usage,
    Vector,
)
from core.embedding import Embedder
from core.memory import Memory
from core.settings import load_settings

NOW = 1_767_225_600.0
WS = "widgets-a3f7b2c9"
TOPICS = ("token", "deploy", "harbor", "pantry")


class Topics:
    """A deterministic embedder: one axis a topic, so that texts of one topic are near."""

    max_input_bytes = 10_000
    batch_size = 4
    endpoint = ""

    def __init__(self, name: str = "topics", size: int = len(TOPICS)) -> None:
        self.fingerprint = f"test:{name}:{size}"
        self.dimensions = size
        self.texts: list[str] = []
        self.failing: Exception | None = None
        self.before_answer: list[Path] = []

    @property
    def usage(self) -> Usage:
        return Usage(texts=len(self.texts))

    def embed(
        self,
        texts: Sequence[str],
        *,
        cancel: Cancel | None = None,
        progress: Progress | None = None,
        patient: bool = True,
    ) -> list[Vector | RefusedVector]:
        if self.failing is not None:
            raise self.failing
        self.texts += texts
        for path in self.before_answer:
            path.unlink(missing_ok=True)
        return [self._one(number, text) for number, text in enumerate(texts)]

    def _one(self, number: int, text: str) -> Vector | RefusedVector:
        words = {"sign": "token", "login": "token", "ship": "deploy"}
        lowered = text.lower()
        values = [
            float(topic in lowered or any(word in lowered for word, means in words.items() if means == topic))
            for topic in TOPICS[: self.dimensions]
        ]
        length = sum(value * value for value in values) ** 0.5
        if not length:
            return RefusedVector(number, "topics", "no known word")
        return struct.pack(f"<{len(values)}f", *(value / length for value in values))

    def close(self) -> None:
        self.texts.clear()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "grok" / "memory"
    (root / WS / "sessions").mkdir(parents=True)
    texts = {
        "2025-12-30-a-00000000.md": "## Auth\n\nThe token rotates every hour.\n",
        "2025-12-29-b-00000000.md": "## Release\n\nWe deploy on Tuesdays.\n",
        "2025-12-28-c-00000000.md": "## Sea\n\nThe harbor wall.\n",
        "2025-12-27-d-00000000.md": "## Nothing\n\nZzz.\n",
    }
    for name, text in texts.items():
        (root / WS / "sessions" / name).write_text(text)
    return root


class Room:
    """Opens memories on one root with a provider put in the place of the configured one."""

    def __init__(self, root: Path, tmp_path: Path) -> None:
        self.root = root
        self.environ = {"HOME": str(tmp_path), "MEMDECK_STATE": str(tmp_path / "state")}
        self.opened: list[Memory] = []

    def open(self, provider: Provider) -> Memory:
        memory = Memory.open(
            str(self.root), workspace=WS, cwd=str(self.root), environ=self.environ, clock=lambda: NOW
        )
        embedder = Embedder(
            load_settings(self.environ, grok_home=None),
            self.environ,
            state=Path(self.environ["MEMDECK_STATE"]),
            root=self.root,
            clock=lambda: NOW,
        )
        embedder.use(provider)
        memory.use_embedder(embedder)
        self.opened.append(memory)
        return memory


@pytest.fixture
def room(root: Path, tmp_path: Path) -> Iterator[Room]:
    room = Room(root, tmp_path)
    yield room
    for memory in room.opened:
        memory.close()


def names(memory: Memory, query: str, profile: str) -> list[str]:
    report = memory.search(query, profile=profile, min_score=0.0)
    return [hit.path.rsplit("/", 1)[-1][:12] for hit in report.hits]


def test_vectors_find_what_shares_no_word(room: Room) -> None:
    memory = room.open(Topics())
    memory.sync()
    assert memory.embedding().state == "filling"
    report = memory.fill_vectors()
    assert (report.stored, report.skipped, report.missing, report.error) == (3, 1, 0, "")
    state = memory.embedding()
    assert (state.state, state.stored, state.skipped) == ("complete", 3, 1)
    assert names(memory, "how do people sign in", "agent") == []
    assert names(memory, "how do people sign in", "hybrid")[0] == "2025-12-30-a"
    assert names(memory, "how do people sign in", "tuned")[0] == "2025-12-30-a"
    assert memory.search("sign", profile="hybrid").mode == "text+vectors"
    assert memory.search("sign", profile="hybrid", embed=False).mode == "text only"


def test_only_what_is_new_is_embedded(room: Room, root: Path) -> None:
    provider = Topics()
    memory = room.open(provider)
    memory.sync()
    memory.fill_vectors()
    provider.texts.clear()
    (root / WS / "sessions" / "2025-12-26-e-00000000.md").write_text("## More\n\nAnother token story.\n")
    memory.sync()
    assert memory.fill_vectors().stored == 1
    assert len(provider.texts) == 1


def test_moved_text_keeps_its_vector(room: Room, root: Path) -> None:
    provider = Topics()
    memory = room.open(provider)
    memory.sync()
    memory.fill_vectors()
    provider.texts.clear()
    folder = root / WS / "sessions"
    (folder / "2025-12-30-a-00000000.md").rename(folder / "2025-12-31-z-00000000.md")
    memory.sync()
    assert memory.embedding().state == "complete"
    assert memory.fill_vectors().stored == 0 and not provider.texts


def test_a_file_deleted_while_it_is_embedded_is_not_written_back(room: Room, root: Path) -> None:
    provider = Topics()
    gone = root / WS / "sessions" / "2025-12-30-a-00000000.md"
    memory = room.open(provider)
    memory.sync()

    class Deleting(Topics):
        def embed(self, texts: Sequence[str], **kwargs: object) -> list[Vector | RefusedVector]:  # type: ignore[override]
            gone.unlink(missing_ok=True)
            memory.sync()
            return super().embed(texts)

    memory = room.open(Deleting())
    memory.sync()
    report = memory.fill_vectors()
    assert report.error == ""
    assert "2025-12-30-a" not in names(memory, "sign in", "hybrid")
    assert memory.embedding().stored == 2


def test_another_model_pauses_vectors_until_they_are_made_anew(room: Room) -> None:
    first = room.open(Topics())
    first.sync()
    first.fill_vectors()
    second = room.open(Topics("other", 2))
    state = second.embedding()
    assert state.state == "changed" and "topics" in state.reason
    report = second.search("sign in", profile="hybrid", min_score=0.0)
    assert report.mode == "text only"
    assert any("paused" in stage.why for stage in report.stages if stage.name == "vectors")
    refused = second.fill_vectors()
    assert refused.error and "--again" in refused.hint and refused.stored == 0
    assert second.fill_vectors(again=True).stored == 2
    assert second.search("sign in", profile="hybrid").mode == "text+vectors"


def test_a_failing_provider_leaves_text_search_and_says_so(room: Room) -> None:
    provider = Topics()
    memory = room.open(provider)
    memory.sync()
    memory.fill_vectors()
    provider.failing = PassingError("the endpoint is away")
    report = memory.search("deploy", profile="hybrid", min_score=0.0)
    assert report.mode == "text after an embedding failure"
    assert [hit.path.rsplit("/", 1)[-1][:12] for hit in report.hits] == ["2025-12-29-b"]
    assert any("the endpoint is away" in note for note in report.notes)
    broken = memory.fill_vectors()
    assert broken.error == "" and broken.missing == 0  # nothing was missing, so nothing was asked


def test_the_agents_vectors_are_not_touched(room: Room, root: Path) -> None:
    import apsw

    from core.index.database import load_sqlite_vec

    memory = room.open(Topics())
    memory.sync()
    memory.fill_vectors()
    connection = apsw.Connection(str(root / WS / "index.sqlite"))
    if load_sqlite_vec(connection):
        pytest.skip("sqlite-vec is not there")
    assert connection.execute("SELECT count(*) FROM chunks_vec").fetchone() == (0,)
    dimensions = connection.execute("SELECT value FROM meta WHERE key='embedding_dimensions'").fetchone()
    assert dimensions == ("1024",)


def test_a_deleted_text_loses_its_vectors_at_the_next_fill(room: Room, root: Path) -> None:
    memory = room.open(Topics())
    memory.sync()
    memory.fill_vectors()
    (root / WS / "sessions" / "2025-12-29-b-00000000.md").unlink()
    memory.sync()
    memory.fill_vectors()
    assert memory.embedding().stored == 2
