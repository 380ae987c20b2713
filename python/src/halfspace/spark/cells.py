"""Near rows by codes: a census, a shuffle to cells, the command in each cell."""

from __future__ import annotations

import contextlib
import functools
import itertools
import logging
import tempfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..command import stream
from . import layout
from .fingerprint import options
from .stages import Checkpoint
from .tasks import Batches, key_of, parallelism, runs, to_tasks

log = logging.getLogger(__name__)

#: Rows of a cell; the command takes about 60 bytes a row, and more for strings as ids.
CELL_ROWS = 4_000_000
#: Rows that are sorted into cells at once.
SENT_ROWS = 200_000
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
    def of(frame: DataFrame, keep: Checkpoint) -> Coded:
        """The rows of a frame that can have near ones: codes are bytes of one width, or a long."""
        same = [name for name in frame.columns if name != "id"]
        rows = frame.dropna(subset=same)
        width = F.octet_length("code") if _kind(rows, "code") == "binary" else F.lit(8)
        count, distinct, widest, narrowest = rows.select(
            F.count("*"), F.approx_count_distinct("code"), F.max(width), F.min(width)
        ).collect()[0]
        if count > 0 and widest != narrowest:
            raise ValueError(f"expected codes of one width, got {narrowest} and {widest} bytes")
        bits = 8 * (widest or 1)
        if count < 2 or distinct > 0.9 * count:
            return Coded(rows, None, count, bits)
        firsts = rows.groupBy(*same).agg(F.min("id").alias("first"))
        members = keep.keep(rows.join(firsts, same).select("first", "id"), "equal codes")
        first = keep.keep(firsts.select(F.col("first").alias("id"), *same), "distinct codes")
        return Coded(first, members, first.count(), bits)

    def words(self) -> list[str]:
        """How the command reads the column of codes: bytes tell their width."""
        return options(code="code", bits=64 if _kind(self.rows, "code") == "bigint" else None)


def _kind(rows: DataFrame, column: str) -> str:
    return rows.schema[column].dataType.simpleString()


def near(left: Coded, right: Coded | None, max_distance: int, cell_rows: int) -> DataFrame:
    """The near pairs of distinct codes, each once: a, b and distance; with `right`, of a row of each."""
    sent, cells = _sent(left, right, max_distance, cell_rows)
    has_within = "within" in left.rows.columns
    words = [*left.words(), *options(max_distance=max_distance)]
    other = (right or left).rows
    schema = f"a {_kind(left.rows, 'id')}, b {_kind(other, 'id')}, distance int"

    def join(batches: Batches) -> Batches:
        for cell, parts in runs(batches, "cell"):
            yield from _near_of(cells[cell], _parts(parts), words, has_within)

    return sent.mapInArrow(join, schema)


def ties(coded: Coded, max_distance: int, cell_rows: int) -> DataFrame:
    """Pairs id_a, id_b that connect the rows which all near pairs of distinct codes connect: each cell
    ties the rows of a group to its first one, so dense groups do not explode."""
    sent, _ = _sent(coded, None, max_distance, cell_rows)
    within = "within" if "within" in coded.rows.columns else None
    words = ["dedup", "-", "-q", "--grouping", "components", *coded.words()]
    words += options(max_distance=max_distance, within=within)
    kind = _kind(coded.rows, "id")

    def tie(batches: Batches) -> Batches:
        for _, parts in runs(batches, "cell"):
            ids: list[pa.Array] = []
            for found in stream(words, _noted(_parts(parts), {"id": ids})):
                known = pa.chunked_array(ids)
                first = known.take(found.column("group")).combine_chunks()
                pairs = pa.RecordBatch.from_arrays([first, found.column("id")], ["id_a", "id_b"])
                yield pairs.filter(pc.not_equal(first, found.column("id")))

    return sent.mapInArrow(tie, f"id_a {kind}, id_b {kind}")


def _sent(
    left: Coded, right: Coded | None, distance: int, cell_rows: int
) -> tuple[DataFrame, list[layout.Cell]]:
    """The rows in the partitions of their cells, and the cells."""
    if right is not None and right.count > 0 and left.count > 0 and left.bits != right.bits:
        raise ValueError(f"expected codes of one width, got {left.bits} and {right.bits} bits")
    bits, tables = left.bits, [left] if right is None else [left, right]
    count = sum(table.count for table in tables)
    shards = [-(-2 * table.count // cell_rows) or 1 if count > cell_rows else 1 for table in tables]
    in_grid = left.count * shards[-1] + (right.count * shards[0] if right else 0)
    if bits // (distance + 1) < layout.MIN_BLOCK_BITS or in_grid <= (distance + 2) * count:
        cells = layout.grid(shards)
        said = f"all with all, in {len(cells)} cells"
        ways = [functools.partial(layout.grid_copies, shards, side) for side in range(len(tables))]
    else:
        hottest: list[int] = []

        def census(*level: Any) -> list[np.ndarray]:
            counts = _census(tables, *level)
            hottest.append(max(int(of_node.max()) for of_node in counts))
            return counts

        root, cells = layout.tree(bits, distance, cell_rows, census, has_sides=right is not None)
        said = f"{len(cells)} cells by the values of {distance + 1} blocks; the most frequent value of a "
        said += f"block is that of {hottest[0]} codes"
        ways = [functools.partial(layout.tree_copies, root, side) for side in range(len(tables))]
    log.info("%d codes within %d of %d bits: %s", count, distance, bits, said)
    schema = "key int, cell int, side int, rows binary"
    parts = [
        table.rows.mapInArrow(_copying(copies), schema) for table, copies in zip(tables, ways, strict=True)
    ]
    all_parts = parts[0] if right is None else parts[0].unionAll(parts[1])
    return to_tasks(all_parts, max(1, len(cells)), "cell", "side"), cells


def _census(tables: list[Coded], root: layout.Node, level: list[layout.Node]) -> list[np.ndarray]:
    """For each node of a level the number of rows by block and value. With two tables, values that one
    of them lacks have none."""
    schema = "node int, block int, counts binary"
    found = []
    for table in tables:
        codes = table.rows.select("code")
        # As few tasks as run at once: each sends its counts of all values.
        parts = codes.coalesce(parallelism(codes.sparkSession)).mapInArrow(_counting(root), schema)
        counts = layout.no_rows(level)
        for row in parts.repartition("node", "block").mapInArrow(_add, schema).collect():
            counts[row["node"]][row["block"]] = _unpacked(row["counts"])
        found.append(counts)
    if len(found) == 1:
        return found[0]
    return [(a + b) * ((a > 0) & (b > 0)) for a, b in zip(*found, strict=True)]


def _counting(root: layout.Node) -> Callable[[Batches], Batches]:
    def of_block(batches: Batches) -> Counts:
        for batch in batches:
            yield from layout.counted(root, layout.matrix(batch.column("code")))

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
        columns = [pa.array([one], pa.int32()) for one in (node, block)]
        columns.append(pa.array([packed], pa.binary()))
        yield pa.RecordBatch.from_arrays(columns, ["node", "block", "counts"])


def _unpacked(packed: bytes) -> np.ndarray:
    return np.frombuffer(zlib.decompress(packed), np.int64)


def _copying(copies: Copies) -> Callable[[Batches], Batches]:
    """Copies of the rows, by cell and side. Many travel as one value, which costs a third of the time
    that they take one by one."""

    def copy(batches: Batches) -> Batches:
        for table in _gathered(batches):
            for cell, side, there in copies(layout.matrix(table.column("code"))):
                if len(there) == 0:
                    continue
                sink = pa.BufferOutputStream()
                some = table.take(pa.array(there))
                with pa.ipc.new_stream(sink, some.schema) as writer:
                    writer.write_batch(some)
                columns = [pa.array([one], pa.int32()) for one in (key_of(cell), cell, side)]
                columns.append(pa.array([sink.getvalue().to_pybytes()], pa.binary()))
                yield pa.RecordBatch.from_arrays(columns, ["key", "cell", "side", "rows"])

    return copy


def _gathered(batches: Batches) -> Batches:
    """The rows of many small batches as fewer large ones."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(one.num_rows for one in held) >= SENT_ROWS:
            yield pa.Table.from_batches(held).combine_chunks().to_batches()[0]
            held = []
    if any(one.num_rows for one in held):
        yield pa.Table.from_batches(held).combine_chunks().to_batches()[0]


#: The side of a part, and the rows.
Parts = Iterator[tuple[int, pa.Buffer]]


def _parts(batches: Batches) -> Parts:
    for batch in batches:
        sides, rows = batch.column("side"), batch.column("rows")
        yield from ((side.as_py(), part.as_buffer()) for side, part in zip(sides, rows, strict=True))


def _near_of(cell: layout.Cell, parts: Parts, words: list[str], has_within: bool) -> Batches:
    """The pairs that belong to a cell, by the command. Of two sides the first becomes a file, the
    second a stream; what the command does not compare of two inputs is compared here."""
    watched = [*(["code"] if cell.agree else []), *(["within"] if has_within and cell.has_sides else [])]
    seen: list[dict[str, list[Any]]] = [{name: [] for name in watched} for _ in range(2)]
    inputs, own = ["-"], seen[0]
    if has_within and not cell.has_sides:
        words = [*words, "--within", "within"]
    with tempfile.TemporaryDirectory() as folder:
        if cell.has_sides:
            left, parts = _file_of(parts, f"{folder}/left.arrows", seen[0])
            inputs, own = [left, "-"], seen[1]
        for found in stream(["pairs", *inputs, *words, "-q"], _noted(parts, own)):
            names = ("id_a", "id_b", "distance", "a", "b")
            id_a, id_b, distance, *at = (found.column(name) for name in names)
            columns = [id_a, id_b, distance.cast(pa.int32())]
            pairs = pa.RecordBatch.from_arrays(columns, ["a", "b", "distance"])
            is_own = None
            for name in watched:
                a, b = (_taken(side, name, rows) for side, rows in zip((seen[0], own), at, strict=True))
                same = pa.array(layout.belong(a, b, cell)) if name == "code" else pc.equal(a, b)
                is_own = same if is_own is None else pc.and_(is_own, same)
            yield pairs if is_own is None else pairs.filter(is_own)


def _taken(side: dict[str, list[Any]], name: str, rows: pa.Array) -> Any:
    """Values of a column by row; the command has read all rows when it gives the first pair."""
    values = side[name]
    if len(values) > 1:
        values[:] = [np.concatenate(values)] if name == "code" else [pa.concat_arrays(values)]
    return values[0][np.asarray(rows)] if name == "code" else values[0].take(rows)


def _noted(parts: Parts, seen: dict[str, list[Any]]) -> Batches:
    """The rows of some parts; `seen` grows by the columns that it names, codes as matrices."""
    for _, part in parts:
        for rows in pa.ipc.open_stream(part):
            for name, values in seen.items():
                column = rows.column(name)
                values.append(layout.matrix(column) if name == "code" else column)
            yield rows


def _file_of(parts: Parts, path: str, seen: dict[str, list[Any]]) -> tuple[str, Parts]:
    """Writes the rows of side 0 to a file; its path, and the parts of side 1. A cell that lacks a side
    has no pairs, and no parts then."""
    sides = itertools.groupby(parts, key=lambda part: part[0])
    side, own = next(sides, (1, iter(())))
    if side == 1:
        return path, iter(())
    writer = None
    with contextlib.ExitStack() as stack:
        for rows in _noted(own, seen):
            writer = writer or stack.enter_context(pa.ipc.new_stream(path, rows.schema))
            writer.write_batch(rows)
    return path, next(sides, (1, iter(())))[1]
