"""Near rows by codes: a shuffle to cells, the command in each cell; and what chains of near rows connect."""

from __future__ import annotations

import functools
import itertools
import logging
import tempfile
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..command import stream, write_rows
from . import layout, travel
from .codes import KEY_BYTES, Coded, options
from .stages import Checkpoint
from .travel import Batches

log = logging.getLogger(__name__)

#: Rows of a cell; a task takes about 120 bytes a row, and 170 with addresses as ids.
CELL_ROWS = 4_000_000
#: The columns of rows that the command gets, and those that stay with its caller.
COMPARED, HELD = ("code", "within", "source"), ("id", "within")


class Rows:
    """Rows on their way to the command, which names them by their numbers from 0 on."""

    def __init__(self, batches: Batches) -> None:
        self._batches = batches
        self._held: list[pa.RecordBatch] = []

    def sent(self) -> Batches:
        """What the command gets of them."""
        for batch in self._batches:
            columns = batch.schema.names
            self._held.append(batch.select([name for name in HELD if name in columns]))
            yield batch.select([name for name in COMPARED if name in columns])

    def held(self) -> pa.RecordBatch:
        """The columns of those that were sent which their caller holds."""
        count = len(self._held)
        if count > 1:  # more may come meanwhile
            self._held[:count] = [travel.joined(self._held[:count])]
        return self._held[0]

    def ids(self, numbers: pa.Array) -> pa.Array:
        return self.held().column("id").take(numbers)


def near(coded: Coded, max_distance: int, cell_rows: int) -> DataFrame:
    """The near pairs, each once: id_a, the lower one, id_b and distance."""
    kind, alike, apart = coded.kinds["id"], coded.words(max_distance), coded.words(max_distance, False)

    def join(cell: layout.Cell, batches: Batches) -> Batches:
        sets = "/".join(",".join(map(str, bits)) for bits in (cell.agree, *cell.differ))
        of_cell = options(cell=sets or None)
        if cell.has_sides:
            sides = travel.runs(batches, "side")
            side, left = next(sides, (1, iter(())))
            if side == 0:
                right = itertools.chain.from_iterable(own for _, own in sides)
                yield from _near_of_two(travel.unpacked(left), travel.unpacked(right), [*apart, *of_cell])
            return
        rows = Rows(travel.unpacked(batches))
        for found in stream(["pairs", "-", "-q", *alike, *of_cell], rows.sent()):
            yield pairs_of(rows, rows, found)

    found = _in_cells(coded, max_distance, cell_rows, join, f"id_a {kind}, id_b {kind}, distance int")
    ends = F.least("id_a", "id_b").alias("id_a"), F.greatest("id_a", "id_b").alias("id_b")
    return found.select(*ends, "distance")


def between(coded: Coded, many: DataFrame, max_distance: int, cell_rows: int) -> DataFrame:
    """The near pairs of a row of each table: id_a, id_b and distance. The second table stays where it
    is: its tasks get the codes of the first one, at most `cell_rows` of them at a time."""
    words = coded.words(max_distance, has_within=False)
    values = travel.blobs(coded.packed)
    # Every task reads the first table: it should have as many rows of the second one.
    rows = many.count()
    tasks = max(1, rows // cell_rows, min(travel.parallelism(many.sparkSession), rows // (coded.count + 1)))
    there = many.dropna(subset=[name for name in many.columns if name != "id"]).coalesce(tasks)

    def join(batches: Batches) -> Batches:
        for piece in travel.pieces(batches, cell_rows):
            right = list(piece)
            for some in travel.pieces(values, cell_rows, travel.rows_in):
                yield from _near_of_two(travel.opened(some), iter(right), words)

    return there.mapInArrow(join, f"id_a {coded.kinds['id']}, id_b {travel.kind_of(many)}, distance int")


def ties(coded: Coded, max_distance: int, cell_rows: int) -> DataFrame:
    """Pairs id_a, id_b that connect the rows which all near pairs connect: each task ties the rows of a
    group to its first one, so dense groups do not explode."""
    own = coded.bits // 8 if coded.keys > 0 else None
    words = coded.words(max_distance, has_within=True if own else None)
    words = ["dedup", "-", "-q", "--grouping", "components", *words]

    def tie(_: layout.Cell, batches: Batches) -> Batches:
        rows = Rows(travel.unpacked(batches) if own is None else _by_keys(travel.unpacked(batches), own))
        for found in stream(words, rows.sent()):
            dropped = found.filter(pc.not_equal(found.column("group"), found.column("row")))
            ends = [rows.ids(dropped.column(name)) for name in ("group", "row")]
            yield pa.RecordBatch.from_arrays(ends, ["id_a", "id_b"])

    kind = coded.kinds["id"]
    found = _in_cells(coded, max_distance, cell_rows, tie, f"id_a {kind}, id_b {kind}")
    return found.unionByName(coded.equal)


def _by_keys(batches: Batches, own: int) -> Batches:
    """The rows that have a key behind the `own` bytes of their codes which others have too, for each such
    key: with their own bytes, and with the key, and what was `within` of the rows, as `within`. So only rows
    with an equal key are compared, and work grows with the rows, not with their pairs."""
    parts = list(batches)
    if not parts:
        return
    rows = travel.joined(parts)
    codes, group = travel.matrix(rows.column("code")), np.zeros(len(rows), np.int64)
    if "within" in rows.schema.names:
        within = travel.numbers(rows.column("within").dictionary_encode().indices)
        group = within.astype(np.int64) << 8 * KEY_BYTES
    rows = travel.with_codes(rows.select(["id", "code"]), codes[:, :own])
    for at in range(own, codes.shape[1], KEY_BYTES):
        key = group | codes[:, at : at + KEY_BYTES].copy().view(np.uint32)[:, 0]
        order = np.argsort(key, kind="stable")
        is_next = np.diff(key[order]) == 0
        shared = order[np.append(is_next, False) | np.insert(is_next, 0, False)]
        if len(shared) > 0:
            columns = [*rows.take(travel.array(shared)).columns, travel.array(key[shared])]
            yield pa.RecordBatch.from_arrays(columns, ["id", "code", "within"])


def _in_cells(
    coded: Coded,
    distance: int,
    cell_rows: int,
    join: Callable[[layout.Cell, Batches], Batches],
    schema: str,
) -> DataFrame:
    """What `join` finds in the packed rows of each cell, which come in the order of their sides."""
    if coded.count <= cell_rows:
        log.info("%d codes: one cell", coded.count)
        return coded.packed.coalesce(1).mapInArrow(functools.partial(join, layout.Cell([], [])), schema)
    blocks = layout.blocks_of(coded.bits, distance)
    if coded.keys > 0:  # near rows agree in one of them, and so in its first bits
        starts = (coded.bits + 8 * KEY_BYTES * key for key in range(coded.keys))
        blocks = [[*range(start, start + layout.BLOCK_BITS)] for start in starts]
    made = layout.layout_of(blocks, *coded.sample, cell_rows)
    cells = made.cells
    log.info("%d codes: %d cells by the values of %d blocks", coded.count, len(cells), len(blocks))
    copy = _copying(made, travel.keys_of(coded.packed.sparkSession, len(cells)), coded.bits // 8)
    sent = coded.packed.mapInArrow(copy, "key long, cell int, side int, rows binary")
    parts = travel.to_tasks(sent, len(cells), "cell", "side")

    def join_cells(batches: Batches) -> Batches:
        for cell, own in travel.runs(batches, "cell"):
            yield from join(cells[cell], own)

    return parts.mapInArrow(join_cells, schema)


def _copying(made: layout.Layout, keys: list[int], own: int) -> Callable[[Batches], Batches]:
    """Copies of packed rows, by cell and side, with the keys of their cells. Of keys behind the `own` bytes
    of their codes a copy has the one by which it came to its cell."""

    def copy(batches: Batches) -> Batches:
        for rows in travel.unpacked(batches):
            codes = travel.matrix(rows.column("code"))
            for cell, side, there in layout.copies(made, codes):
                if len(there) == 0:
                    continue
                copied = rows.take(travel.array(there))
                if own < codes.shape[1]:
                    at = made.cells[cell].agree[0] // 8
                    kept = [codes[there, :own], codes[there, at : at + KEY_BYTES]]
                    copied = travel.with_codes(copied, np.hstack(kept))
                where = (keys[cell], np.int32(cell), np.int32(side))
                columns = [travel.array(np.array([one])) for one in where]
                columns.append(travel.one_value(travel.as_value(copied)))
                yield pa.RecordBatch.from_arrays(columns, ["key", "cell", "side", "rows"])

    return copy


def pairs_of(left: Rows, right: Rows, found: pa.RecordBatch) -> pa.RecordBatch:
    """Pairs with ids: a, b and distance."""
    ids = [left.ids(found.column("a")), right.ids(found.column("b"))]
    distance = found.column("distance").cast(pa.int32())
    return pa.RecordBatch.from_arrays([*ids, distance], ["id_a", "id_b", "distance"])


def _near_of_two(left: Batches, right: Batches, words: list[str]) -> Batches:
    """The near pairs of a row of each, of one value of `within` where they have it: the command does
    not compare it of two inputs. The left rows become a file."""
    a, b = Rows(left), Rows(right)
    with tempfile.TemporaryDirectory() as folder:
        path = write_rows(folder, a.sent())
        if path is None:
            return
        for found in stream(["pairs", path, "-", "-q", *words], b.sent()):
            if "within" in a.held().schema.names:
                ends = zip((a, b), "ab", strict=True)
                found = found.filter(pc.equal(*(side.held()["within"].take(found[at]) for side, at in ends)))
            yield pairs_of(a, b, found)


def components(
    near: DataFrame, checkpoint: Checkpoint | None = None, task_pairs: int = CELL_ROWS
) -> DataFrame:
    """The ids that chains of pairs id_a, id_b connect: a DataFrame of id and component, the least id of
    all that are connected. Each id of `near` has a row. One task connects up to `task_pairs` pairs. Of
    more, tasks connect those of each id that come from it by a random order of ids, and the least ids
    that they find for one id are the pairs of the next round: two thirds of a chain's.

    >>> same = components(pairs(codes, max_distance=3))
    """
    stages = checkpoint or Checkpoint(near.sparkSession)
    kind = travel.kind_of(near, "id_a")
    rounds: list[DataFrame] = []

    def connected(batches: Batches) -> Batches:
        for piece in travel.pieces(batches, task_pairs):
            yield _connected(travel.joined(piece))

    left, count = stages.keep(near.where("id_a <> id_b").select("id_a", "id_b"), "edges")
    while count > task_pairs:
        # Another order in each round: in that of ids a chain would not shrink.
        drawn = [F.xxhash64(name, F.lit(len(rounds))) for name in ("id_a", "id_b")]
        parts = left.repartition(F.greatest(*drawn)).mapInArrow(connected, f"id {kind}, least {kind}")
        parts, _ = stages.keep(parts, f"components {len(rounds) + 1}")
        own = parts.groupBy("id").agg(F.min("least").alias("id_a"))
        pairs = parts.join(own, "id").where("id_a <> least").select("id_a", F.col("least").alias("id_b"))
        left, count = stages.keep(pairs.distinct(), "edges")
        rounds.append(own)
    found = left.coalesce(1).mapInArrow(connected, f"id {kind}, least {kind}")
    for own in reversed(rounds):
        of_least = found.withColumnRenamed("id", "id_a")
        found = own.join(of_least, "id_a", "left").select("id", F.coalesce("least", "id_a").alias("least"))
    return stages.keep(found.withColumnRenamed("least", "component"), "components")[0]


def _connected(pairs: pa.RecordBatch) -> pa.RecordBatch:
    """The ids of pairs with the least that each is connected to."""
    ids = pc.unique(pa.chunked_array(pairs.columns))
    ids = ids.take(pc.sort_indices(ids))
    a, b = (travel.numbers(pc.index_in(column, ids)) for column in pairs.columns)
    least = np.arange(len(ids))
    while len(a):
        np.minimum.at(least, np.maximum(least[a], least[b]), np.minimum(least[a], least[b]))
        while (least != least[least]).any():
            least = least[least]
        apart = least[a] != least[b]
        a, b = a[apart], b[apart]
    return pa.RecordBatch.from_arrays([ids, ids.take(travel.array(least))], ["id", "least"])
