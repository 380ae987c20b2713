"""Near rows by codes: a census, a shuffle to cells, the command in each cell."""

from __future__ import annotations

import functools
import itertools
import logging
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..command import stream
from . import layout
from .arrays import array, matrix, numbers, one_value
from .fingerprint import options
from .stages import Checkpoint
from .tasks import Batches, blobs, key_of, parallelism, runs, survey, to_tasks

log = logging.getLogger(__name__)

#: Rows of a cell; the command takes about 60 bytes a row, and more for strings as ids.
CELL_ROWS = 4_000_000
#: Rows that are sorted into cells at once.
SENT_ROWS = 200_000
#: Rows that a task counts at least, so that counts are few beside rows.
CENSUS_ROWS = 1_000_000
#: How rows travel: zstd makes ids that ascend a third shorter than Spark's lz4 does.
PACKED = pa.ipc.IpcWriteOptions(compression="zstd")
#: Yields (cell, side, rows) for the rows of a matrix of codes that go to each cell.
Copies = Callable[[np.ndarray], Iterator[tuple[int, int, np.ndarray]]]
#: The number of a node and of a block, and how many rows have each value.
Counts = Iterator[tuple[int, int, np.ndarray]]


@dataclass
class Coded:
    """Rows with codes: id, code, and `within` where rows of one value meet alone. Where many are
    equal, the least id stands for them, and `members` has it (first) for every row (id)."""

    rows: DataFrame
    members: DataFrame | None
    count: int
    bits: int

    @staticmethod
    def of(frame: DataFrame, keep: Checkpoint, name: str | None = None) -> Coded:
        """The rows of a frame that can have near ones: codes are bytes of one width, or a long. Checks
        ids, which the caller names `name`."""
        same = [name for name in frame.columns if name != "id"]
        rows, found = frame.dropna(subset=same), survey(frame, name)
        narrowest, widest = found.widths
        if found.rows > 0 and widest != narrowest:
            raise ValueError(f"expected codes of one width, got {narrowest} and {widest} bytes")
        bits = 8 * (widest or 1)
        if found.rows < 2 or found.codes > 0.9 * found.rows:
            return Coded(rows, None, found.rows, bits)
        firsts = rows.groupBy(*same).agg(F.min("id").alias("first"))
        members = keep.keep(rows.join(firsts, same).select("first", "id"), "equal codes")
        first = keep.keep(firsts.select(F.col("first").alias("id"), *same), "distinct codes")
        return Coded(first, members, first.count(), bits)

    def words(self) -> list[str]:
        """How the command reads the column of codes: bytes tell their width."""
        return options(code="code", bits=64 if _kind(self.rows, "code") == "bigint" else None)


def _kind(rows: DataFrame, column: str) -> str:
    return rows.schema[column].dataType.simpleString()


def near(coded: Coded, max_distance: int, cell_rows: int) -> DataFrame:
    """The near pairs of distinct codes, each once: a, b and distance."""
    words = [*coded.words(), *options(max_distance=max_distance)]
    within = options(within="within" if "within" in coded.rows.columns else None)

    def join(batches: Batches, cells: list[layout.Cell]) -> Batches:
        for number, parts in runs(batches, "cell"):
            cell = cells[number]
            if cell.has_sides:
                yield from _near_of_sides(parts, words)
                continue
            sets = "/".join(",".join(map(str, bits)) for bits in (cell.agree, *cell.differ))
            own = [*words, *within, *options(cell=sets or None)]
            yield from map(_pairs, stream(["pairs", "-", "-q", *own], _rows(parts)))

    return _in_cells(coded, max_distance, cell_rows, join, _schema(coded.rows, coded.rows))


def between(
    left: DataFrame, right: DataFrame, max_distance: int, cell_rows: int, stages: Checkpoint
) -> DataFrame:
    """The near pairs of a row of each table: id_a, id_b and distance. The larger table stays where it
    is: each of its tasks gets the codes of the smaller one, at most `cell_rows` of them at a time."""
    few, many, ends = left, right, ("id_a", "id_b")
    counts = [left.count(), right.count()]
    if counts[0] > counts[1]:
        few, many, ends = right, left, ("id_b", "id_a")
    coded = Coded.of(few, stages)
    words = [*coded.words(), *options(max_distance=max_distance)]
    schema, turns = _schema(few, many), max(1, -(-coded.count // cell_rows))
    # Every task reads the smaller table: it should have as many rows of the larger one.
    at_once, rows = parallelism(few.sparkSession), max(counts)
    tasks = max(1, rows // cell_rows, min(at_once, rows // (coded.count + 1)))
    there = many.dropna(subset=[name for name in many.columns if name != "id"]).coalesce(tasks)

    def of_turn(turn: int) -> DataFrame:
        some = coded.rows.where(F.pmod(F.xxhash64("id"), F.lit(turns)) == turn)
        parts = blobs(some.mapInArrow(packed, "rows binary"))

        def join(batches: Batches) -> Batches:
            for piece in pieces(batches, cell_rows):
                yield from near_of_two(opened(parts), piece, words)

        return there.mapInArrow(join, schema)

    found = functools.reduce(DataFrame.unionAll, map(of_turn, range(turns)))
    if coded.members is not None:
        members = coded.members.select(F.col("first").alias("a"), "id")
        found = found.join(members, "a").drop("a").withColumnRenamed("id", "a")
    found = found.withColumnsRenamed(dict(zip("ab", ends, strict=True)))
    return found.select("id_a", "id_b", "distance")


def ties(coded: Coded, max_distance: int, cell_rows: int) -> DataFrame:
    """Pairs id_a, id_b that connect the rows which all near pairs of distinct codes connect: each task
    ties the rows of a group to its first one, so dense groups do not explode."""
    within = "within" if "within" in coded.rows.columns else None
    words = ["dedup", "-", "-q", "--grouping", "components", *coded.words()]
    words += options(max_distance=max_distance, within=within)
    kind = _kind(coded.rows, "id")

    def tie(batches: Batches, _: list[layout.Cell]) -> Batches:
        # Rows of several cells may meet: what is near is near.
        ids: list[pa.Array] = []
        for found in stream(words, _noted(_rows(batches), "id", ids)):
            known = pa.chunked_array(ids)
            first = known.take(found.column("group")).combine_chunks()
            pairs = pa.RecordBatch.from_arrays([first, found.column("id")], ["id_a", "id_b"])
            yield pairs.filter(pc.not_equal(first, found.column("id")))

    return _in_cells(coded, max_distance, cell_rows, tie, f"id_a {kind}, id_b {kind}")


def _schema(left: DataFrame, right: DataFrame) -> str:
    return f"a {_kind(left, 'id')}, b {_kind(right, 'id')}, distance int"


def _in_cells(
    coded: Coded,
    distance: int,
    cell_rows: int,
    join: Callable[[Batches, list[layout.Cell]], Batches],
    schema: str,
) -> DataFrame:
    """What `join` finds in the rows of each cell, which a task has in the order of cell and side."""
    count, bits = coded.count, coded.bits
    shards = -(-2 * count // cell_rows) if count > cell_rows else 1
    if bits // (distance + 1) < layout.MIN_BLOCK_BITS or shards <= distance + 2:
        cells = layout.grid(shards)
        tasks = [*range(len(cells))]
        said = f"all with all, in {len(cells)} cells"
        copies: Copies = functools.partial(layout.grid_copies, shards)
    else:
        hottest: list[int] = []

        def census(*level: Any) -> list[np.ndarray]:
            counts = _census(coded, *level)
            hottest.append(max(int(of_node.max()) for of_node in counts))
            return counts

        root, cells = layout.tree(bits, distance, cell_rows, census)
        tasks = layout.tasks_of(cells, cell_rows)
        said = f"{len(cells)} cells by the values of {distance + 1} blocks; the most frequent value of a "
        said += f"block is that of {hottest[0]} codes"
        copies = functools.partial(layout.tree_copies, root)
    log.info("%d codes within %d of %d bits: %s", count, distance, bits, said)
    copy = _copying(copies, tasks)
    sent = coded.rows.mapInArrow(copy, "key int, cell int, side int, rows binary")
    parts = to_tasks(sent, 1 + max(tasks, default=0), "cell", "side")
    return parts.mapInArrow(lambda rows: join(rows, cells), schema)


def _census(coded: Coded, root: layout.Node, level: list[layout.Node]) -> list[np.ndarray]:
    """For each node of a level the number of rows by block and value."""
    schema, codes = "node int, block int, counts binary", coded.rows.select("code")
    # Few tasks: each sends its counts of all values.
    tasks = min(parallelism(codes.sparkSession), 1 + coded.count // CENSUS_ROWS)
    parts = codes.coalesce(tasks).mapInArrow(_counting(root), schema)
    counts = layout.no_rows(level)
    for row in parts.repartition("node", "block").mapInArrow(_add, schema).collect():
        counts[row["node"]][row["block"]] = _unpacked(row["counts"])
    return counts


def _counting(root: layout.Node) -> Callable[[Batches], Batches]:
    def of_block(batches: Batches) -> Counts:
        for batch in batches:
            yield from layout.counted(root, matrix(batch.column("code")))

    return lambda batches: _sums(of_block(batches))


def _add(batches: Batches) -> Batches:
    """The sums of counts that tasks have sent."""
    rows = (row for batch in batches for row in batch.to_pylist())
    return _sums((row["node"], row["block"], _unpacked(row["counts"])) for row in rows)


def _sums(counts: Counts) -> Batches:
    sums: dict[tuple[int, int], np.ndarray] = {}
    for node, block, found in counts:
        sums[node, block] = sums.get((node, block), 0) + found
    for (node, block), found in sums.items():
        packed = zlib.compress(found.astype(np.int64).tobytes(), 1)
        columns = [*(array(np.array([one], np.int32)) for one in (node, block)), one_value(packed)]
        yield pa.RecordBatch.from_arrays(columns, ["node", "block", "counts"])


def _unpacked(packed: bytes) -> np.ndarray:
    return np.frombuffer(zlib.decompress(packed), np.int64)


def _copying(copies: Copies, tasks: list[int]) -> Callable[[Batches], Batches]:
    """Copies of the rows, by cell and side. Many travel as one value, which costs a third of the time
    that they take one by one."""

    def copy(batches: Batches) -> Batches:
        for rows in _gathered(batches):
            for cell, side, there in copies(matrix(rows.column("code"))):
                if len(there) == 0:
                    continue
                ints = (key_of(tasks[cell]), cell, side)
                columns = [array(np.array([one], np.int32)) for one in ints]
                columns += _column(rows.take(array(there))).columns
                yield pa.RecordBatch.from_arrays(columns, ["key", "cell", "side", "rows"])

    return copy


def _column(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Some rows as one value of bytes. Of ids that are integers, it has their differences: the lowest bytes
    of all of them, then the next ones, which are mostly zeros and take no space."""
    ids, sink = rows.column("id"), pa.BufferOutputStream()
    if pa.types.is_integer(ids.type):
        known = numbers(ids).astype(np.int64)
        steps = np.diff(known, prepend=known[:1])
        steps = steps << 1 ^ steps >> 63  # the sign is the lowest bit
        planes = np.ascontiguousarray(steps.view(np.uint8).reshape(-1, 8).T)
        rows = rows.set_column(0, "id", array(planes.reshape(-1).view(np.int64)))
        rows = rows.replace_schema_metadata({"first": str(known[0]), "ids": str(ids.type)})
    with pa.ipc.new_stream(sink, rows.schema, options=PACKED) as writer:
        writer.write_batch(rows)
    return pa.RecordBatch.from_arrays([one_value(sink.getvalue())], ["rows"])


def opened(values: Iterable[Any]) -> Batches:
    """The rows of such values."""
    for rows in itertools.chain.from_iterable(map(pa.ipc.open_stream, values)):
        known = rows.schema.metadata
        if known:
            planes = numbers(rows.column("id")).view(np.uint8).reshape(8, -1)
            steps = np.ascontiguousarray(planes.T).reshape(-1).view(np.uint64)
            ids = np.cumsum((steps >> 1).view(np.int64) ^ -(steps & 1).view(np.int64)) + int(known[b"first"])
            rows = rows.set_column(0, "id", array(ids).cast(known[b"ids"].decode()))
        yield rows.replace_schema_metadata(None)


def _rows(batches: Batches) -> Batches:
    return opened(value.as_buffer() for batch in batches for value in batch.column("rows"))


def packed(batches: Batches) -> Batches:
    """The rows as few values of bytes."""
    return map(_column, _gathered(batches))


def _gathered(batches: Batches) -> Batches:
    """The rows of many small batches as fewer large ones."""
    for piece in pieces(batches, SENT_ROWS):
        yield pa.Table.from_batches(piece).combine_chunks().to_batches()[0]


def pieces(batches: Batches, rows: int) -> Iterator[Batches]:
    """Batches in runs of about so many rows."""
    seen = 0

    def piece(batch: pa.RecordBatch) -> int:
        nonlocal seen
        seen += int(batch.num_rows)
        return (seen - 1) // rows

    some = (batch for batch in batches if batch.num_rows > 0)
    return (part for _, part in itertools.groupby(some, key=piece))


def _pairs(found: pa.RecordBatch) -> pa.RecordBatch:
    a, b, distance = (found.column(name) for name in ("id_a", "id_b", "distance"))
    return pa.RecordBatch.from_arrays([a, b, distance.cast(pa.int32())], ["a", "b", "distance"])


def _near_of_sides(batches: Batches, words: list[str]) -> Batches:
    """The near pairs of rows of different sides of a cell, which come in the order of their sides."""
    values = (zip(batch.column("side"), batch.column("rows"), strict=True) for batch in batches)
    parts = itertools.chain.from_iterable(values)
    sides: Any = itertools.groupby(parts, key=lambda part: part[0].as_py())
    side, left = next(sides, (1, iter(())))
    if side == 0:
        right = (value.as_buffer() for _, some in sides for _, value in some)
        yield from near_of_two(opened(value.as_buffer() for _, value in left), opened(right), words)


def near_of_two(left: Batches, right: Batches, words: list[str]) -> Batches:
    """The near pairs of a row of each, of one value of `within` where they have it: the command does
    not compare it of two inputs. The left rows become a file."""
    seen: tuple[list[pa.Array], list[pa.Array]] = ([], [])
    first = next(left, None)
    if first is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/left.arrows"
        with pa.ipc.new_stream(path, first.schema) as writer:
            for batch in _noted(itertools.chain([first], left), "within", seen[0]):
                writer.write_batch(batch)
        for found in stream(["pairs", path, "-", "-q", *words], _noted(right, "within", seen[1])):
            pairs = _pairs(found)
            if seen[0]:
                sides = zip(seen, "ab", strict=True)
                a, b = (pa.chunked_array(values).take(found.column(at)) for values, at in sides)
                pairs = pairs.filter(pc.equal(a, b).combine_chunks())
            yield pairs


def _noted(batches: Batches, name: str, values: list[pa.Array]) -> Batches:
    """The same batches; `values` grows by a column of theirs, where they have it."""
    for batch in batches:
        if name in batch.schema.names:
            values.append(batch.column(name))
        yield batch
