"""Many rows as one value of bytes: so they travel at a third of the time that they take one by one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from .arrays import array, numbers, one_value
from .tasks import Batches

T = TypeVar("T", bound=Sized)

#: Rows of a value.
PACKED_ROWS = 200_000
#: zstd makes ids that ascend a third shorter than Spark's lz4 does.
PACKED = pa.ipc.IpcWriteOptions(compression="zstd")


def packed(batches: Batches) -> Batches:
    """The rows as few values of bytes."""
    for piece in pieces(batches, PACKED_ROWS):
        value = as_value(pa.Table.from_batches(piece).combine_chunks().to_batches()[0])
        yield pa.RecordBatch.from_arrays([value], ["rows"])


def as_value(rows: pa.RecordBatch) -> pa.Array:
    """Some rows as one value of bytes. Of ids that are integers, it has their differences: the lowest bytes
    of all of them, then the next ones, which are mostly zeros and take no space."""
    ids, sink, said = rows.column("id"), pa.BufferOutputStream(), {"rows": str(rows.num_rows)}
    if pa.types.is_integer(ids.type):
        known = numbers(ids).astype(np.int64)
        steps = np.diff(known, prepend=known[:1])
        steps = steps << 1 ^ steps >> 63  # the sign is the lowest bit
        planes = np.ascontiguousarray(steps.view(np.uint8).reshape(-1, 8).T)
        rows = rows.set_column(0, "id", array(planes.reshape(-1).view(np.int64)))
        said |= {"first": str(known[0]), "ids": str(ids.type)}
    rows = rows.replace_schema_metadata(said)
    with pa.ipc.new_stream(sink, rows.schema, options=PACKED) as writer:
        writer.write_batch(rows)
    return one_value(sink.getvalue())


def rows_in(value: bytes) -> int:
    """How many rows a value has."""
    return int(pa.ipc.open_stream(value).schema.metadata[b"rows"])


def opened(values: Iterable[Any]) -> Batches:
    """The rows of such values."""
    for rows in itertools.chain.from_iterable(map(pa.ipc.open_stream, values)):
        known = rows.schema.metadata
        if b"first" in known:
            planes = numbers(rows.column("id")).view(np.uint8).reshape(8, -1)
            steps = np.ascontiguousarray(planes.T).reshape(-1).view(np.uint64)
            ids = np.cumsum((steps >> 1).view(np.int64) ^ -(steps & 1).view(np.int64)) + int(known[b"first"])
            rows = rows.set_column(0, "id", array(ids).cast(known[b"ids"].decode()))
        yield rows.replace_schema_metadata(None)


def unpacked(batches: Batches) -> Batches:
    """The rows of batches of such values."""
    return opened(value.as_buffer() for batch in batches for value in batch.column("rows"))


def pieces(batches: Iterable[T], rows: int, count: Callable[[T], int] = len) -> Iterator[Iterator[T]]:
    """Batches in runs of about so many rows."""
    seen = 0

    def piece(batch: T) -> int:
        nonlocal seen
        seen += count(batch)
        return (seen - 1) // rows

    some = (batch for batch in batches if count(batch) > 0)
    return (part for _, part in itertools.groupby(some, key=piece))
