"""An index as plain values that can be compared with another one's, whatever order it was written in."""

from __future__ import annotations

from core.index.database import integrity
from core.index.grams import gram_phrase
from core.index.sync import Index

Contents = tuple[list[tuple[object, ...]], dict[str, list[str]]]


def contents(index: Index, words: tuple[str, ...], runs: tuple[str, ...] = ()) -> Contents:
    """The rows, and for each word (or run of CJK or Thai) the chunks its index gives."""
    database = index.database()
    assert database is not None
    assert integrity(database) == ""
    with database.reading() as reader:
        rows = list(
            reader.execute(
                "SELECT id, path, start_line, end_line, text, hash, source FROM chunks ORDER BY id"
            )
        )
        found: dict[str, list[str]] = {}
        for table, terms in (
            ("chunks_fts", [f'"{word}"' for word in words]),
            ("memdeck_grams", map(gram_phrase, runs)),
        ):
            for term in terms:
                # By rowid alone: a word left behind for a row that is gone must show.
                matches = reader.execute(
                    f"SELECT ifnull(c.id, 'no row') FROM {table} f LEFT JOIN chunks c ON c.rowid = f.rowid"
                    f" WHERE {table} MATCH ? ORDER BY 1",
                    (term,),
                )
                found[term] = [str(row[0]) for row in matches]
        (documents,) = reader.execute("SELECT count(*) FROM chunks_fts_docsize").fetchone() or (None,)
        assert documents == len(rows)
    return rows, found
