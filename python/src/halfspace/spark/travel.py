"""Rows as tasks have them: how they come to a task, by calls that every Spark from 3.5 on has, and how they
travel, many as one value of bytes at a third of the time that they take one by one.

Arrow's arrays become numpy's and back by their bytes: `pa.array` and `np.asarray` import pandas into each
worker of Python, which costs 2.3 CPU seconds.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

Batches = Iterator[pa.RecordBatch]
T = TypeVar("T", bound=Sized)

#: Rows of a value.
PACKED_ROWS = 200_000


def keys_of(spark: SparkSession, tasks: int) -> list[int]:
    """By task a number that Spark hashes to the partition of the task, where rows have it as `key`."""
    drawn = spark.range(40 * tasks).select(F.pmod(F.hash("id"), F.lit(tasks)), "id")
    found = dict(map(tuple, drawn.collect()))
    return [found[task] for task in range(tasks)]


def to_tasks(frame: DataFrame, tasks: int, task: str, *order: str) -> DataFrame:
    """The rows in `tasks` partitions by their column "key", in the order of `task` and of `order`. A
    task has one partition where keys are those of `keys_of`, or hash to it; `runs` reads any."""
    return frame.repartition(tasks, "key").drop("key").sortWithinPartitions(task, *order)


def runs(batches: Batches, task: str) -> Iterator[tuple[int, Batches]]:
    """Yields (task, its batches) for rows in the order of their tasks."""

    def cut() -> Iterator[tuple[int, pa.RecordBatch]]:
        for batch in batches:
            found, starts = np.unique(numbers(batch.column(task)), return_index=True)
            for one, (start, end) in zip(found, itertools.pairwise([*starts, len(batch)]), strict=True):
                yield int(one), batch.slice(start, end - start)

    for number, parts in itertools.groupby(cut(), key=lambda part: part[0]):
        yield number, (part for _, part in parts)


def kind_of(frame: DataFrame, column: str = "id") -> str:
    """The type of a column."""
    return frame.schema[column].dataType.simpleString()


def blobs(frame: DataFrame) -> list[bytes]:
    """The values of a column of bytes."""
    return [bytes(row[0]) for row in frame.collect()]


def parallelism(spark: SparkSession) -> int:
    """How many tasks run at once, as far as a client knows."""
    if is_classic(spark):
        return spark.sparkContext.defaultParallelism
    return int(spark.conf.get("spark.sql.shuffle.partitions") or 200)


def is_classic(spark: Any) -> bool:
    """Whether the client has a JVM: by Spark Connect it has none."""
    return "connect" not in type(spark).__module__


def packed(batches: Batches) -> Batches:
    """The rows as few values of bytes."""
    for piece in pieces(batches, PACKED_ROWS):
        yield one_row(rows=as_value(joined(piece)))


def joined(batches: Iterable[pa.RecordBatch]) -> pa.RecordBatch:
    """Some batches, at least one of them with rows, as one."""
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]


def as_value(rows: pa.RecordBatch) -> pa.Buffer:
    """Some rows as one value of bytes, a Parquet file: ids that are integers take their differences."""
    sink = pa.BufferOutputStream()
    whole = [one.name for one in rows.schema if one.name[:2] == "id" and pa.types.is_integer(one.type)]
    how: Any = {"use_dictionary": False, "write_statistics": False, "store_schema": False}
    if whole:
        how["column_encoding"] = dict.fromkeys(whole, "DELTA_BINARY_PACKED")
    pq.write_table(pa.Table.from_batches([rows]), sink, compression="zstd", **how)
    return sink.getvalue()


def rows_in(value: bytes) -> int:
    """How many rows a value has."""
    return int(pq.read_metadata(pa.BufferReader(value)).num_rows)


def opened(values: Iterable[Any]) -> Batches:
    """The rows of such values."""
    for value in values:
        table = pq.ParquetFile(pa.BufferReader(value)).read()
        yield from table.combine_chunks().to_batches()


def unpacked(batches: Iterable[pa.RecordBatch]) -> Batches:
    """The rows of batches of such values."""
    return opened(value.as_buffer() for batch in batches for value in batch.column("rows"))


def pieces(batches: Iterable[T], rows: int, count: Callable[[T], int] = len) -> Iterator[Iterator[T]]:
    """Batches in runs of about so many rows."""
    counted = ((count(batch), batch) for batch in batches if count(batch) > 0)
    ends = itertools.accumulate(counted, lambda last, one: (last[0] + one[0], one[1]))
    for _, run in itertools.groupby(ends, key=lambda one: (one[0] - 1) // rows):
        yield (batch for _, batch in run)


def array(values: np.ndarray) -> pa.Array:
    """Numbers as an Arrow array, not copied where they are contiguous."""
    data = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, data])


def numbers(column: pa.Array) -> np.ndarray:
    """The numbers of a column without nulls."""
    return np.from_dlpack(column)


def one_row(**values: bytes | pa.Buffer | int | np.integer | None) -> pa.RecordBatch:
    """A batch of one row of numbers and values of bytes."""
    columns = []
    for value in values.values():
        if value is None:
            columns.append(pa.nulls(1, pa.binary()))
        elif isinstance(value, (int, np.integer)):
            columns.append(array(np.array([value])))
        else:
            ends = pa.py_buffer(np.array([0, len(value)], np.int32))
            columns.append(pa.Array.from_buffers(pa.binary(), 1, [None, ends, pa.py_buffer(value)]))
    return pa.RecordBatch.from_arrays(columns, [*values])


def matrix(column: pa.Array) -> np.ndarray:
    """The codes of a column without nulls, all of one width, as a matrix of bytes."""
    if pa.types.is_int64(column.type):
        return numbers(column).view(np.uint8).reshape(len(column), 8)
    width = len(column[0].as_buffer()) if len(column) else 1
    flat = column.cast(pa.binary(width))
    values = np.frombuffer(flat.buffers()[1] or b"", np.uint8)
    start = flat.offset * width
    return values[start : start + len(flat) * width].reshape(len(flat), width)


def with_codes(rows: pa.RecordBatch, codes: np.ndarray) -> pa.RecordBatch:
    """Rows with the codes of a matrix in place of theirs."""
    data = pa.py_buffer(np.ascontiguousarray(codes))
    column = pa.Array.from_buffers(pa.binary(codes.shape[1]), len(codes), [None, data])
    columns = [column if name == "code" else rows.column(name) for name in rows.schema.names]
    return pa.RecordBatch.from_arrays(columns, rows.schema.names)
