"""Near rows by codes: a census, a shuffle to cells, the command in each cell."""

from __future__ import annotations

import functools
import itertools
import logging
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from ..command import stream, write_rows
from . import layout
from .fingerprint import options
from .keys import KEY_BYTES, by_keys, with_key
from .rows import (
    Batches,
    array,
    as_value,
    blobs,
    keys_of,
    matrix,
    one_value,
    opened,
    parallelism,
    pieces,
    rows_in,
    runs,
    to_tasks,
    unpacked,
)
from .stages import Checkpoint
from .survey import survey

log = logging.getLogger(__name__)

#: Rows of a cell; a task takes about 120 bytes a row, and 170 with addresses as ids.
CELL_ROWS = 4_000_000
#: Rows that a task counts at least, and how many tasks do at most: each sends .6 MB to the driver.
CENSUS_ROWS, CENSUS_TASKS = 1_000_000, 64
#: The columns of rows that the command gets, and those that stay with its caller.
COMPARED, HELD = ("code", "within", "source", "value"), ("id", "within")


@dataclass
class Coded:
    """Rows with codes, packed: id, code, and `within` where rows of one value meet alone. Where many are
    equal, the least id stands for them, and `members` has it (first) for every row (id)."""

    packed: DataFrame
    schema: StructType
    members: DataFrame | None
    count: int
    bits: int
    #: How many keys stand behind a code.
    keys: int = 0

    @staticmethod
    def of(frame: DataFrame, stages: Checkpoint, name: str | None = None, bits: int | None = None) -> Coded:
        """The rows of a frame that can have near ones: codes are bytes of one width, or a long. Checks
        ids, which the caller names `name`. The frame is computed once, and kept. What is behind `bits` of a
        code are keys."""
        schema = frame.schema
        found, rows = survey(frame, name, stages, "packed codes")
        narrowest, widest = found.widths
        if found.rows > 0 and widest != narrowest:
            raise ValueError(f"expected codes of one width, got {narrowest} and {widest} bytes")
        width = widest or 1
        own = min(width, -(-(bits or 8 * width) // 8))
        sizes = {"bits": 8 * own, "keys": (width - own) // KEY_BYTES}
        if found.rows < 2 or found.codes > 0.9 * found.rows:
            return Coded(rows, schema, None, found.rows, **sizes)
        same = [name for name in frame.columns if name != "id"]
        every = rows.mapInArrow(unpacked, schema)
        firsts = every.groupBy(*same).agg(F.min("id").alias("first"))
        members = stages.keep(every.join(firsts, same).select("first", "id"), "equal codes")
        first = firsts.select(F.col("first").alias("id"), *same)
        distinct, rows = survey(first, None, stages, "distinct codes")
        return Coded(rows, schema, members, distinct.rows, **sizes)

    def kind(self, column: str) -> str:
        return self.schema[column].dataType.simpleString()

    def words(self, max_distance: int) -> list[str]:
        """How the command reads and compares the rows: codes of bytes tell their width."""
        bits = 64 if self.kind("code") == "bigint" else None
        return options(code="code", bits=bits, max_distance=max_distance)

    @property
    def own(self) -> int | None:
        """The bytes of a code that are before its keys; None where there are none."""
        return self.bits // 8 if self.keys > 0 else None

    def blocks(self, max_distance: int) -> list[list[int]]:
        """The blocks of bits in one of which near rows agree: where codes have keys, of each the first."""
        if self.keys == 0:
            return layout.blocks_of(self.bits, max_distance)
        starts = (self.bits + 8 * KEY_BYTES * key for key in range(self.keys))
        return [[*range(start, start + layout.BLOCK_BITS)] for start in starts]

    def within(self) -> list[str]:
        return options(within="within" if "within" in self.schema.names else None)


def near(coded: Coded, max_distance: int, cell_rows: int) -> DataFrame:
    """The near pairs of distinct codes, each once: a, b and distance."""
    words, within, kind = coded.words(max_distance), coded.within(), coded.kind("id")

    def join(cell: layout.Cell, batches: Batches) -> Batches:
        sets = "/".join(",".join(map(str, bits)) for bits in (cell.agree, *cell.differ))
        of_cell = [*words, *options(cell=sets or None)]
        if cell.has_sides:
            yield from _near_of_sides(batches, of_cell)
            return
        rows = Rows(unpacked(batches))
        for found in stream(["pairs", "-", "-q", *of_cell, *within], rows.sent()):
            yield pairs_of(rows, rows, found)

    return _in_cells(coded, max_distance, cell_rows, join, f"a {kind}, b {kind}, distance int")


def between(
    few: DataFrame, many: DataFrame, max_distance: int, cell_rows: int, stages: Checkpoint, name: str
) -> DataFrame:
    """The near pairs of a row of each table: id_a, id_b and distance. The second table stays where it
    is: each of its tasks gets the codes of the first one, at most `cell_rows` of them at a time, whose
    ids are checked, and are called `name` by the caller."""
    coded = Coded.of(few, stages, name)
    words = coded.words(max_distance)
    schema = f"a {coded.kind('id')}, b {many.schema['id'].dataType.simpleString()}, distance int"
    # Every task reads the first table: it should have as many rows of the second one.
    at_once, rows = parallelism(few.sparkSession), many.count()
    tasks = max(1, rows // cell_rows, min(at_once, rows // (coded.count + 1)))
    there = many.dropna(subset=[name for name in many.columns if name != "id"]).coalesce(tasks)

    def of_turn(some: list[bytes]) -> DataFrame:
        def join(batches: Batches) -> Batches:
            for piece in pieces(batches, cell_rows):
                yield from _near_ids(opened(some), piece, words)

        return there.mapInArrow(join, schema)

    turns = [list(some) for some in pieces(blobs(coded.packed), cell_rows, rows_in)]
    found = functools.reduce(DataFrame.unionAll, map(of_turn, turns or [[]]))
    if coded.members is not None:
        found = found.join(coded.members.withColumnRenamed("first", "a"), "a").drop("a")
        found = found.withColumnRenamed("id", "a")
    return found.select(F.col("a").alias("id_a"), F.col("b").alias("id_b"), "distance")


def ties(coded: Coded, max_distance: int, cell_rows: int) -> DataFrame:
    """Pairs id_a, id_b that connect the rows which all near pairs of distinct codes connect: each task
    ties the rows of a group to its first one, so dense groups do not explode."""
    words = ["dedup", "-", "-q", "--grouping", "components"]
    words += [*coded.words(max_distance), *coded.within()]
    kind = coded.kind("id")

    own = coded.own

    def tie(_: layout.Cell, batches: Batches) -> Batches:
        left = unpacked(batches)
        if own is not None:
            found_by_keys, left = by_keys(left, own, max_distance)
            yield from found_by_keys
        rows = Rows(left)
        for found in stream(words, rows.sent()):
            dropped = found.filter(pc.not_equal(found.column("group"), found.column("row")))
            ends = [rows.ids(dropped.column(name)) for name in ("group", "row")]
            yield pa.RecordBatch.from_arrays(ends, ["id_a", "id_b"])

    return _in_cells(coded, max_distance, cell_rows, tie, f"id_a {kind}, id_b {kind}")


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
    blocks = coded.blocks(distance)
    made = layout.layout_of(blocks, _census(coded, blocks), cell_rows)
    cells = made.cells
    log.info("%d codes: %d cells by the values of %d blocks", coded.count, len(cells), len(blocks))
    keys = keys_of(coded.packed.sparkSession, len(cells) or 1)
    copy = _copying(made, keys, coded.own)
    sent = coded.packed.mapInArrow(copy, "key long, cell int, side int, rows binary")
    parts = to_tasks(sent, len(cells) or 1, "cell", "side")

    def join_cells(batches: Batches) -> Batches:
        for cell, own in runs(batches, "cell"):
            yield from join(cells[cell], own)

    return parts.mapInArrow(join_cells, schema)


def _census(coded: Coded, blocks: list[list[int]]) -> np.ndarray:
    """The rows of all tasks by block and value."""

    def count(batches: Batches) -> Batches:
        counts = np.zeros((len(blocks), layout.VALUES), np.int64)
        for batch in unpacked(batches):
            counts += layout.census(blocks, matrix(batch.column("code")))
        yield pa.RecordBatch.from_arrays([one_value(zlib.compress(counts.tobytes(), 1))], ["counts"])

    # Few tasks: each sends its counts of all values.
    tasks = min(parallelism(coded.packed.sparkSession), CENSUS_TASKS, 1 + coded.count // CENSUS_ROWS)
    parts = blobs(coded.packed.coalesce(tasks).mapInArrow(count, "counts binary"))
    every = (np.frombuffer(zlib.decompress(part), np.int64) for part in parts)
    return sum(every, np.zeros(1, np.int64)).reshape(len(blocks), layout.VALUES)


def _copying(made: layout.Layout, keys: list[int], own: int | None = None) -> Callable[[Batches], Batches]:
    """Copies of packed rows, by cell and side, with the keys of their cells. Of keys behind the `own` bytes
    of their codes a copy has the one by which it came to its cell."""

    def copy(batches: Batches) -> Batches:
        for rows in unpacked(batches):
            for cell, side, there in layout.copies(made, matrix(rows.column("code"))):
                if len(there) == 0:
                    continue
                columns = [array(np.array([one])) for one in (keys[cell], np.int32(cell), np.int32(side))]
                copied = rows.take(array(there))
                if own is not None:
                    copied = with_key(copied, own, made.cells[cell].agree[0] // 8)
                columns.append(as_value(pa.Table.from_batches([copied])))
                yield pa.RecordBatch.from_arrays(columns, ["key", "cell", "side", "rows"])

    return copy


class Rows:
    """Rows on their way to the command, which names them by their numbers from 0 on."""

    def __init__(self, batches: Batches, *held: str) -> None:
        self._batches, self._names = batches, held or HELD
        self._held: list[pa.RecordBatch] = []

    def sent(self) -> Batches:
        """What the command gets of them."""
        for batch in self._batches:
            columns = batch.schema.names
            self._held.append(batch.select([name for name in self._names if name in columns]))
            yield batch.select([name for name in COMPARED if name in columns])

    def held(self) -> pa.RecordBatch:
        """The columns `held` of those that were sent."""
        if len(self._held) > 1:
            self._held = pa.Table.from_batches(self._held).combine_chunks().to_batches()
        return self._held[0]

    def ids(self, numbers: pa.Array) -> pa.Array:
        return self.held().column("id").take(numbers)


def pairs_of(left: Rows, right: Rows, found: pa.RecordBatch) -> pa.RecordBatch:
    """Pairs with ids: a, b and what else the command found."""
    ids = [left.ids(found.column("a")), right.ids(found.column("b"))]
    distance = found.column("distance").cast(pa.int32())
    return pa.RecordBatch.from_arrays([*ids, distance], ["a", "b", "distance"])


def _near_of_sides(batches: Batches, words: list[str]) -> Batches:
    """The near pairs of packed rows of different sides of a cell."""
    sides = runs(batches, "side")
    side, left = next(sides, (1, iter(())))
    if side == 0:
        right = itertools.chain.from_iterable(own for _, own in sides)
        yield from _near_ids(unpacked(left), unpacked(right), words)


def _near_ids(left: Batches, right: Batches, words: list[str]) -> Batches:
    a, b = Rows(left), Rows(right)
    return (pairs_of(a, b, found) for found in near_of_two(a, b, words))


def near_of_two(left: Rows, right: Rows, words: list[str]) -> Batches:
    """The near pairs of a row of each, of one value of `within` where they have it: the command does
    not compare it of two inputs. The left rows become a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_rows(folder, left.sent())
        if path is None:
            return
        for found in stream(["pairs", path, "-", "-q", *words], right.sent()):
            if "within" in left.held().schema.names:
                ends = zip((left, right), "ab", strict=True)
                found = found.filter(pc.equal(*(side.held()["within"].take(found[at]) for side, at in ends)))
            yield found
