"""Every pair of near codes, each once: a census, a shuffle to cells, the command in each cell."""

import contextlib
import itertools
import logging
import tempfile

import numpy as np
import pyarrow as pa
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


def pairs(codes, max_distance, id="id", code="code", forest=False, cell_rows=CELL_ROWS):
    """The pairs of rows whose codes differ in at most `max_distance` bits, as a DataFrame of id_a,
    id_b and distance, with id_a < id_b. `forest=True`: only enough of them to connect what all
    connect; dense groups then do not explode. Rows without a code are in no pair. Codes are bytes,
    or a long. The rows are read several times: cache or write what is costly to compute."""
    rows = codes.select(F.col(id).alias("id"), F.col(code).alias("code")).where(F.col(code).isNotNull())
    kind = rows.schema["code"].dataType.typeName()
    width = F.lit(8) if kind == "long" else F.octet_length("code")
    count, distinct, widest, narrowest = rows.select(
        F.count("*"), F.approx_count_distinct("code"), F.max(width), F.min(width)
    ).first()
    if count > 0 and widest != narrowest:
        raise ValueError(f'"{code}" expected codes of one width, got {narrowest} and {widest} bytes')
    if count < 2 or distinct > 0.9 * count:
        return _of_distinct(rows, count, 8 * (widest or 1), max_distance, forest, cell_rows)
    # Equal codes first: the least id stands for them.
    members = rows.groupBy("code").agg(F.min("id").alias("first")).join(rows, "code")
    members = kept(members.select("first", "id"))
    first = kept(rows.groupBy("code").agg(F.min("id").alias("id")).select("id", "code"))
    near = _of_distinct(first, first.count(), 8 * widest, max_distance, forest, cell_rows)
    if forest:
        equal = members.where("first < id").select(
            F.col("first").alias("id_a"), F.col("id").alias("id_b"), F.lit(0).alias("distance")
        )
        return near.unionByName(equal)
    a = members.select(F.col("first").alias("id_a"), F.col("id").alias("a"))
    b = members.select(F.col("first").alias("id_b"), F.col("id").alias("b"))
    apart = near.join(a, "id_a").join(b, "id_b").select(*_ordered("a", "b"), "distance")
    same = a.join(b.withColumnRenamed("id_b", "id_a"), "id_a").where("a < b")
    return apart.unionByName(
        same.select(F.col("a").alias("id_a"), F.col("b").alias("id_b"), F.lit(0).alias("distance"))
    )


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


def _of_distinct(rows, count, bits, distance, forest, cell_rows):
    """The pairs of codes of which few are equal."""
    shards = -(-2 * count // cell_rows) if count > cell_rows else 1
    if bits // (distance + 1) < layout.MIN_BLOCK_BITS or shards - 1 <= distance + 1:
        cells = [(["-"] if i == j else [None, "-"]) for i, j in layout.grid(shards)]
        copies = lambda codes: layout.grid_copies(shards, codes)  # noqa: E731
        log.info("%d codes within %d of %d bits: all with all, in %d cells", count, distance, bits, len(cells))
    else:
        root, wishes, hottest = _by_blocks(rows, bits, distance, cell_rows)
        log.info(
            "%d codes within %d of %d bits: %d cells by the values of %d blocks; the most frequent value of a "
            "block is that of %d codes",
            *(count, distance, bits, len(wishes), distance + 1, hottest),
        )
        cells = [["-", *wish] for wish in wishes]
        copies = lambda codes: layout.copies(root, codes, np.arange(len(codes)))  # noqa: E731
    near = [*code_of(rows), *options(max_distance=distance, forest=forest)]
    return _met(_sent(rows, copies, cells), cells, near, rows.schema)


def _by_blocks(rows, bits, distance, cell_rows):
    """The tree of blocks after a census of their values, the options of each cell, and how many codes
    share the most frequent value of a block."""
    hottest = []

    def census(*level):
        counts = _census(rows, *level)
        hottest.append(max(int(of_node.max()) for of_node in counts))
        return counts

    root, cells = layout.tree(bits, distance, cell_rows, census)
    wishes = [
        options(
            agree=layout.runs(agree).split("+"),
            differ=[layout.runs(one) for one in differ] or None,
        )
        for agree, differ in cells
    ]
    return root, wishes, hottest[0]


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


def _sent(rows, copies, cells):
    """The rows, each in the partitions of its cells. Many travel as one value, which costs a third
    of the time that they take one by one."""

    def send(batches):
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

    parts = rows.mapInArrow(send, "cell int, side int, rows binary")
    parts = parts.repartitionById(len(cells), "cell")
    has_sides = any(inputs[0] is None for inputs in cells)
    return parts.sortWithinPartitions("side") if has_sides else parts


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


def _met(sent, cells, near, schema):
    """The pairs of each cell, by the command."""

    def meet(batches):
        parts = (part for batch in batches for part in zip(*(batch.column(i) for i in range(3))))
        first = next(parts, None)
        if first is None:
            return
        inputs = cells[first[0].as_py()]
        parts = itertools.chain([first], parts)
        with tempfile.TemporaryDirectory() as folder:
            if inputs[0] is None:  # two shards: the first becomes a file, the second a stream
                left, parts = _file_of(parts, f"{folder}/left.arrows")
                inputs = [left, *inputs[1:]]
            rows = (rows for part in parts for rows in pa.ipc.open_stream(part[2].as_buffer()))
            for found in stream(["pairs", *inputs, *near, "-q", "--columns", COLUMNS], rows):
                found = found.set_column(2, "distance", found.column(2).cast(pa.int32()))
                yield found

    name = schema["id"].dataType.simpleString()
    pairs = sent.mapInArrow(meet, f"a {name}, b {name}, distance int")
    return pairs.select(*_ordered("a", "b"), "distance")


COLUMNS = "id_a,id_b,distance"


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
