"""Vectors made on this machine: unit length, the same every time, never NaN, and never the network."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from core.embed import local
from core.embed.local import LocalProvider
from core.embed.provider import Cancel, Cancelled, RefusedVector, Vector
from core.embed.vectors import unpack

TEXTS = ["Access tokens rotate every 15 minutes.", "配置文件", "🙂", "a", "\x00", "x" * 50_000]


def only_vectors(made: list[Vector | RefusedVector]) -> list[Vector]:
    assert all(isinstance(vector, bytes) for vector in made), made
    return [vector for vector in made if isinstance(vector, bytes)]


def nearness(one: Vector, other: Vector) -> float:
    return sum(a * b for a, b in zip(unpack(one), unpack(other), strict=True))


def test_vectors_have_256_numbers_and_length_one() -> None:
    for vector in only_vectors(LocalProvider().embed(TEXTS)):
        assert len(vector) == 4 * 256
        assert math.isclose(nearness(vector, vector), 1.0, abs_tol=1e-5)


def test_a_text_without_a_known_word_is_refused_and_its_neighbours_kept() -> None:
    made = LocalProvider().embed(["token", "", "rotation"])
    refused = made.pop(1)
    assert isinstance(refused, RefusedVector)
    assert (refused.index, refused.why) == (1, "no known word")
    assert len(only_vectors(made)) == 2


def test_a_text_has_one_vector_whatever_is_embedded_beside_it() -> None:
    provider = LocalProvider()
    together = provider.embed(TEXTS)
    assert together == [provider.embed([text])[0] for text in TEXTS]
    assert together == LocalProvider().embed(TEXTS)


def test_likeness_of_meaning_is_nearness() -> None:
    login, cat, query = only_vectors(
        LocalProvider().embed(["The user logs in with a password.", "The cat sleeps.", "sign-in credentials"])
    )
    assert nearness(query, login) > nearness(query, cat)


def test_it_is_what_the_library_itself_computes() -> None:
    text = TEXTS[0]
    (ours,) = only_vectors(LocalProvider().embed([text]))
    (theirs,) = local._model().embed([text], norm=True)
    assert unpack(ours).tolist() == pytest.approx(theirs.tolist(), abs=1e-6)


def test_long_texts_are_cut_and_counted() -> None:
    provider = LocalProvider()
    limit = provider.max_input_bytes
    long, cut = provider.embed(["é" * limit, "é" * (limit // 2)])
    assert long == cut
    assert (provider.usage.texts, provider.usage.bytes, provider.usage.requests) == (2, 2 * limit, 0)


def test_it_can_be_cancelled_and_tells_how_far_it_is() -> None:
    cancel, steps = Cancel(), []

    def progress(done: int, total: int) -> None:
        steps.append((done, total))
        cancel.set()

    with pytest.raises(Cancelled):
        LocalProvider().embed(["word"] * 80, cancel=cancel, progress=progress)
    assert steps == [(32, 80)]
    LocalProvider().embed(["word"] * 40, progress=progress)
    assert steps[1:] == [(32, 40), (40, 40)]


def test_it_is_loaded_once_by_whoever_asks_first(monkeypatch: pytest.MonkeyPatch) -> None:
    real, loads, results = local._load, [], []

    def load() -> object:
        loads.append(threading.current_thread())
        return real()

    monkeypatch.setattr(local, "_load", load)
    monkeypatch.setattr(local, "_loaded", None)
    threads = [
        threading.Thread(target=lambda: results.append(LocalProvider().embed(["word"]))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loads) == 1 and results == [results[0]] * 4


_ALONE = """
import json, logging, os, sys
touched = []
def watch(event, args):
    if event.startswith("socket.") and event != "socket.__new__":
        raise RuntimeError(f"network: {event} {args}")
    if event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        touched.append(str(args[0]))
sys.addaudithook(watch)
from core.embed.local import LocalProvider
(vector,) = LocalProvider().embed(["Access tokens rotate."])
written = [path for path in touched if path.startswith(os.environ["HOME"])]
print(json.dumps([len(vector), written, len(logging.getLogger().handlers), logging.getLogger().level]))
"""


def test_loading_and_embedding_use_no_network_write_nothing_and_leave_logging_alone(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _ALONE],
        env={**os.environ, "HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == [1024, [], 0, 30]
    assert done.stderr == "" and list(tmp_path.iterdir()) == []
