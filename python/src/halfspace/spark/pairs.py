"""Every pair of near codes, each once: a census, a shuffle to cells, the command in each cell."""

import contextlib
import itertools
import logging
import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import StorageLevel
from pyspark.sql import functions as F

from ..command import stream
from . import layout
from .fingerprint import options

log = logging.getLogger(__name__)

#: Rows of a cell; the command takes about 60 bytes a row, and more for strings as ids.
CELL_ROWS = 4_000_000
#: Rows that are sorted into cells at once.
SENT_ROWS = 200_000


def pairs(codes, max_distance, id="id", code="code", cell_rows=CELL_ROWS):
    """The pairs of rows whose codes differ in at most `max_distance` bits, as a DataFrame of id_a,
    id_b and distance, with id_a < id_b. Rows without a code are in no pair. Codes are bytes, or a
    long. The rows are read several times: cache or write what is costly to compute."""
    rows, members, count, bits = _distinct(codes, id, code)
    sent, cells = _sent(rows, count, bits, max_distance, cell_rows)
    meet = _near_of(cells, [*code_of(rows), *options(max_distance=max_distance)])
    near = sent.mapInArrow(meet, _schema(rows, "a {id}, b {id}, distance int"))
    near = near.select(*_ordered("a", "b"), "distance")
    if members is None:
        return near
    a = members.select(F.col("first").alias("id_a"), F.col("id").alias("a"))
    b = members.select(F.col("first").alias("id_b"), F.col("id").alias("b"))
    apart = near.join(a, "id_a").join(b, "id_b").select(*_ordered("a", "b"), "distance")
    same = a.join(b.withColumnRenamed("id_b", "id_a"), "id_a").where("a < b")
    return apart.unionByName(
        same.select(F.col("a").alias("id_a"), F.col("b").alias("id_b"), F.lit(0).alias("distance"))
    )


def edges(codes, max_distance, id="id", code="code", cell_rows=CELL_ROWS):
    """Pairs id_a, id_b that connect the rows which all near pairs connect. Each cell ties the rows of
    a group to its first one, so dense groups do not explode."""
    rows, members, count, bits = _distinct(codes, id, code)
    sent, _ = _sent(rows, count, bits, max_distance, cell_rows)
    words = ["dedup", "-", "-q", "--grouping", "components", *code_of(rows), *options(max_distance=max_distance)]
    found = sent.mapInArrow(lambda batches: _ties(words, batches), _schema(rows, "id_a {id}, id_b {id}"))
    if members is None:
        return found
    equal = members.where("first < id").select(F.col("first").alias("id_a"), F.col("id").alias("id_b"))
    return found.unionByName(equal)


def _distinct(codes, id, code):
    """The rows that have codes, their number, and the bits of a code. Where many are equal, the least
    id stands for them, and the second result has it for every row."""
    rows = codes.select(F.col(id).alias("id"), F.col(code).alias("code")).where(F.col(code).isNotNull())
    kind = rows.schema["code"].dataType.typeName()
    width = F.lit(8) if kind == "long" else F.octet_length("code")
    count, distinct, widest, narrowest = rows.select(
        F.count("*"), F.approx_count_distinct("code"), F.max(width), F.min(width)
    ).first()
    if count > 0 and widest != narrowest:
        raise ValueError(f'"{code}" expected codes of one width, got {narrowest} and {widest} bytes')
    if count < 2 or distinct > 0.9 * count:
        return rows, None, count, 8 * (widest or 1)
    members = rows.groupBy("code").agg(F.min("id").alias("first")).join(rows, "code")
    first = kept(rows.groupBy("code").agg(F.min("id").alias("id")).select("id", "code"))
    return first, kept(members.select("first", "id")), first.count(), 8 * widest


def kept(frame):
    """The rows of a frame, computed once: in the checkpoint directory where Spark has one, else on two
    executors, which is as much as Spark can do without a place that outlives them."""
    if frame.sparkSession.conf.get("spark.checkpoint.dir", None):
        return frame.checkpoint()
    return frame.localCheckpoint(storageLevel=StorageLevel.MEMORY_AND_DISK_2)


def code_of(rows):
    """How the command reads the column of codes: bytes tell their width."""
    is_long = rows.schema["code"].dataType.typeName() == "long"
    return options(code="code", bits=64 if is_long else None)


def _ordered(a, b):
    return F.least(a, b).alias("id_a"), F.greatest(a, b).alias("id_b")


def _schema(rows, columns):
    return columns.format(id=rows.schema["id"].dataType.simpleString())


def _sent(rows, count, bits, distance, cell_rows):
    """The rows in the partitions of their cells; and for each cell the blocks that `layout.belong`
    reads, and whether two shards meet there."""
    shards = -(-2 * count // cell_rows) if count > cell_rows else 1
    if bits // (distance + 1) < layout.MIN_BLOCK_BITS or shards - 1 <= distance + 1:
        cells = [((), (), i != j) for i, j in layout.grid(shards)]
        copies = lambda codes: layout.grid_copies(shards, codes)  # noqa: E731
        log.info("%d codes within %d of %d bits: all with all, in %d cells", count, distance, bits, len(cells))
    else:
        hottest = []

        def census(*level):
            counts = _census(rows, *level)
            hottest.append(max(int(of_node.max()) for of_node in counts))
            return counts

        root, blocks = layout.tree(bits, distance, cell_rows, census)
        cells = [(*one, False) for one in blocks]
        copies = lambda codes: layout.copies(root, codes, np.arange(len(codes)))  # noqa: E731
        log.info(
            "%d codes within %d of %d bits: %d cells by the values of %d blocks; the most frequent value of a "
            "block is that of %d codes",
            *(count, distance, bits, len(cells), distance + 1, hottest[0]),
        )
    parts = rows.mapInArrow(lambda batches: _copied(batches, copies), "cell int, side int, rows binary")
    parts = parts.repartitionById(len(cells), "cell")
    has_sides = any(cell[2] for cell in cells)
    return parts.sortWithinPartitions("side") if has_sides else parts, cells


def _census(rows, root, level):
    """For each node of a level the number of rows by block and value."""

    def count(batches):
        sums = {}
        for batch in batches:
            codes = layout.matrix(batch.column("code"))
            for number, at, found in layout.counted(root, codes):
                sums[number, at] = sums.get((number, at), 0) + found
        for (number, at), found in sums.items():
            value = np.flatnonzero(found)
            of_node = np.full(len(value), number), np.full(len(value), at)
            columns = [pa.array(one) for one in (*of_node, value, found[value])]
            yield pa.RecordBatch.from_arrays(columns, ["node", "block", "value", "rows"])

    parts = rows.select("code").mapInArrow(count, "node long, block long, value long, rows long")
    table = parts.groupBy("node", "block", "value").agg(F.sum("rows").alias("rows")).toArrow()
    number, block, value, size = (np.asarray(table.column(name)) for name in table.column_names)
    counts = layout.no_rows(level)
    for n, of_node in enumerate(counts):
        own = number == n
        of_node[block[own], value[own]] = size[own]
    return counts


def _copied(batches, copies):
    """Copies of the rows, by cell and side. Many travel as one value, which costs a third of the time
    that they take one by one."""
    for table in _gathered(batches):
        for cell, side, there in copies(layout.matrix(table.column("code"))):
            if len(there) == 0:
                continue
            sink = pa.BufferOutputStream()
            some = table.take(pa.array(there))
            with pa.ipc.new_stream(sink, some.schema) as writer:
                writer.write_batch(some)
            columns = [pa.array([cell], pa.int32()), pa.array([side], pa.int32())]
            columns.append(pa.array([sink.getvalue().to_pybytes()], pa.binary()))
            yield pa.RecordBatch.from_arrays(columns, ["cell", "side", "rows"])


def _gathered(batches):
    """The rows of many small batches as fewer large ones."""
    held, count = [], 0
    for batch in batches:
        held, count = [*held, batch], count + batch.num_rows
        if count >= SENT_ROWS:
            yield pa.Table.from_batches(held).combine_chunks().to_batches()[0]
            held, count = [], 0
    if count > 0:
        yield pa.Table.from_batches(held).combine_chunks().to_batches()[0]


def _near_of(cells, near):
    """A function that yields the pairs that belong to a cell, by the command."""

    def meet(batches):
        parts = _parts(batches)
        first = next(parts, None)
        if first is None:
            return
        agree, differ, has_sides = cells[first[0].as_py()]
        parts, inputs, codes = itertools.chain([first], parts), ["-"], []
        with tempfile.TemporaryDirectory() as folder:
            if has_sides:  # two shards: the first becomes a file, the second a stream
                left, parts = _file_of(parts, f"{folder}/left.arrows")
                inputs = [left, "-"]
            words = ["pairs", *inputs, *near, "-q"]
            for found in stream(words, _noted(parts, codes if agree else None)):
                columns = [found.column("id_a"), found.column("id_b")]
                distance, a, b = (found.column(name) for name in ("distance", "a", "b"))
                columns.append(distance.cast(pa.int32()))
                found = pa.RecordBatch.from_arrays(columns, ["a", "b", "distance"])
                if agree:
                    if len(codes) > 1:  # the command has read all rows
                        codes[:] = [np.concatenate(codes)]
                    own = layout.belong(codes[0][np.asarray(a)], codes[0][np.asarray(b)], agree, differ)
                    found = found.filter(pa.array(own))
                yield found

    return meet


def _ties(words, batches):
    """Yields each row of a group of the cell's rows with the first one, by the command."""
    ids = []
    for found in stream(words, _noted(_parts(batches), ids, "id")):
        known = pa.chunked_array(ids)
        first = known.take(found.column("group")).combine_chunks()
        ties = pa.RecordBatch.from_arrays([first, found.column("id")], ["id_a", "id_b"])
        yield ties.filter(pc.not_equal(first, found.column("id")))


def _parts(batches):
    """The cell, the side and the rows of each part that was sent to a task."""
    return (part for batch in batches for part in zip(*(batch.column(i) for i in range(3))))


def _noted(parts, seen, column="code"):
    """The rows of some parts; `seen` grows by their codes, as matrices, or by another column."""
    for part in parts:
        for rows in pa.ipc.open_stream(part[2].as_buffer()):
            if seen is not None:
                values = rows.column(column)
                seen.append(layout.matrix(values) if column == "code" else values)
            yield rows


def _file_of(parts, path):
    """Writes the rows of side 0 to a file; its path, and the parts of side 1."""
    writer = None
    with contextlib.ExitStack() as stack:
        for part in parts:
            if part[1].as_py() == 1:
                return path, itertools.chain([part], parts)
            for rows in pa.ipc.open_stream(part[2].as_buffer()):
                writer = writer or stack.enter_context(pa.ipc.new_stream(path, rows.schema))
                writer.write_batch(rows)
    return path, iter(())
