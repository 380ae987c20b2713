"""Near rows by codes: a shuffle to cells, the command in each cell; and what chains of near rows connect.

Codes within distance d agree in at least one of d + 1 disjoint blocks of bits (pigeonhole), so a row
goes to d + 1 cells, by the value of each block. A sample tells how many rows have a value, and several
values share a cell. The rows of a value that has too many are cut into shards, and each pair of shards is
a cell. A pair is reported by the first block in which it agrees. Where blocks would be too narrow to tell
rows apart, there is one without bits, of which all rows have the same value.
"""

from __future__ import annotations

import functools
import itertools
import logging
import math
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..command import stream, write_rows
from . import travel
from .codes import KEY_BYTES, Coded, options
from .stages import Checkpoint
from .travel import Batches

log = logging.getLogger(__name__)

#: Rows of a cell; a task takes about 120 bytes a row, and 170 with addresses as ids.
CELL_ROWS = 4_000_000
#: The columns of rows that the command gets, and those that stay with its caller.
COMPARED, HELD = ("code", "within", "source"), ("id", "within")
#: Bits of a block at most.
BLOCK_BITS = 16
#: Values that are fewer times in a sample are taken to have equally many rows.
FEW = 8
#: Blocks of fewer bits do not tell rows apart.
MIN_BLOCK_BITS = 8


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

    def join(cell: Cell, batches: Batches) -> Batches:
        sets = "/".join(",".join(map(str, bits)) for bits in (cell.agree, *cell.differ))
        of_cell = options(cell=sets or None)
        if cell.has_sides:
            of_side = {side: [*own] for side, own in travel.runs(batches, "side")}
            left, right = (travel.unpacked(of_side.get(side, [])) for side in (0, 1))
            yield from _near_of_two(left, right, [*apart, *of_cell])
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

    def tie(_: Cell, batches: Batches) -> Batches:
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
    join: Callable[[Cell, Batches], Batches],
    schema: str,
) -> DataFrame:
    """What `join` finds in the packed rows of each cell, which come in the order of their sides."""
    if coded.count <= cell_rows:
        log.info("%d codes: one cell", coded.count)
        return coded.packed.coalesce(1).mapInArrow(lambda batches: join(Cell([], []), batches), schema)
    blocks = blocks_of(coded.bits, distance)
    if coded.keys > 0:  # near rows agree in one of them, and so in its first bits
        starts = (coded.bits + 8 * KEY_BYTES * key for key in range(coded.keys))
        blocks = [[*range(start, start + BLOCK_BITS)] for start in starts]
    made = Layout(blocks, *coded.sample, cell_rows)
    cells = made.cells
    log.info("%d codes: %d cells by the values of %d blocks", coded.count, len(cells), len(blocks))
    keys, own = travel.keys_of(coded.packed.sparkSession, len(cells)), coded.bits // 8
    copy = functools.partial(_copying, made, keys, own)
    sent = coded.packed.mapInArrow(copy, "key long, cell int, side int, rows binary")
    parts = travel.to_tasks(sent, len(cells), "cell", "side")

    def join_cells(batches: Batches) -> Batches:
        for cell, own in travel.runs(batches, "cell"):
            yield from join(cells[cell], own)

    return parts.mapInArrow(join_cells, schema)


def _copying(made: Layout, keys: list[int], own: int, batches: Batches) -> Batches:
    """Copies of packed rows, by cell and side, with the keys of their cells. Of keys behind the `own` bytes
    of their codes a copy has the one by which it came to its cell."""
    for rows in travel.unpacked(batches):
        codes = travel.matrix(rows.column("code"))
        for cell, side, there in made.copies(codes):
            if len(there) == 0:
                continue
            copied = rows.take(travel.array(there))
            if own < codes.shape[1]:
                at = made.cells[cell].agree[0] // 8
                kept = [codes[there, :own], codes[there, at : at + KEY_BYTES]]
                copied = travel.with_codes(copied, np.hstack(kept))
            where = {"key": keys[cell], "cell": np.int32(cell), "side": np.int32(side)}
            yield travel.one_row(**where, rows=travel.as_value(copied))


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


@dataclass
class Cell:
    """Rows that meet. Their pairs agree in the bits `agree`, and in no set of `differ` entirely; with
    sides, only rows of different ones are paired."""

    agree: list[int]
    differ: list[list[int]]
    has_sides: bool = False
    #: How many shards meet in this cell and the following ones, where they are of one value.
    shards: int = 0


def blocks_of(bits: int, distance: int) -> list[list[int]]:
    """d + 1 disjoint blocks of the bits, each of at most 16; or one without bits."""
    if bits // (distance + 1) < MIN_BLOCK_BITS:
        return [[]]
    return [part[:BLOCK_BITS].tolist() for part in np.array_split(range(bits), distance + 1)]


def values_of(codes: np.ndarray, block: list[int]) -> np.ndarray:
    """By row the value of a block of bits; `codes` is a matrix of bytes."""
    values = np.zeros(len(codes), np.uint16)
    for byte in {bit // 8 for bit in block}:
        shift, column = 8 * byte - block[0], codes[:, byte].astype(np.uint16)
        values |= column << shift if shift > 0 else column >> -shift
    values &= np.uint16((1 << len(block)) - 1)
    return values


class Layout:
    """Cells of about `cell_rows` rows by a sample of codes, and of how many rows each of these is."""

    def __init__(
        self, blocks: list[list[int]], codes: np.ndarray, rows_of: np.ndarray, cell_rows: int
    ) -> None:
        self.cells: list[Cell] = []
        #: By block and value the first cell that its rows go to.
        self._firsts: list[tuple[list[int], np.ndarray]] = []
        for at, block in enumerate(blocks):
            values, differ, count = values_of(codes, block), blocks[:at], 1 << len(block)
            sizes = np.bincount(values, rows_of, count)
            is_rare = np.bincount(values, minlength=count) < FEW
            sizes[is_rare] = sizes[is_rare].sum() / max(1, is_rare.sum())
            firsts = np.empty(count, np.int32)
            for value in np.flatnonzero(sizes > cell_rows):
                firsts[value] = len(self.cells)
                shards = math.ceil(2 * sizes[value] / cell_rows)
                pairs = itertools.combinations_with_replacement(range(shards), 2)
                self.cells.extend(Cell(block, differ, i != j, shards) for i, j in pairs)
            # The largest first, from cell to cell.
            left = np.flatnonzero(sizes <= cell_rows)
            left = left[np.argsort(-sizes[left], kind="stable")]
            ends, total = np.cumsum(sizes[left]), sizes[left].sum()
            wanted = max(min(1, len(left)), round(total / cell_rows))
            place = (ends - sizes[left] / 2) * wanted / max(total, 1)
            firsts[left] = len(self.cells) + np.minimum(place.astype(np.int32), wanted - 1)
            self.cells.extend(Cell(block, differ) for _ in range(wanted))
            # numpy sorts 16 bits by radix, three times as fast.
            self._firsts.append((block, firsts.astype(np.int16) if len(self.cells) < 1 << 15 else firsts))

    def copies(self, codes: np.ndarray) -> Iterator[tuple[int, int, np.ndarray]]:
        """Yields (cell, side, rows that go there) for a matrix of codes; side 1 is for the second of two
        shards."""
        for block, firsts in self._firsts:
            targets = firsts[values_of(codes, block)]
            order = np.argsort(targets, kind="stable")
            found, starts = np.unique(targets[order], return_index=True)
            for first, there in zip(map(int, found), np.split(order, starts[1:]), strict=True):
                shards = self.cells[first].shards
                if shards == 0:
                    yield first, 0, there
                    continue
                # Each value of rows begins at another shard, since some have few of these.
                parts = [there[(one - there[0]) % shards :: shards] for one in range(shards)]
                pairs = itertools.combinations_with_replacement(range(shards), 2)
                for cell, pair in enumerate(pairs, first):
                    yield from ((cell, side, parts[one]) for side, one in enumerate(sorted({*pair})))


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
