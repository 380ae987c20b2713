"""Arrow's arrays as numpy's and back. `pa.array` and `np.asarray` do the same, but import pandas into each
worker of Python, which costs 2.3 CPU seconds."""

from __future__ import annotations

import numpy as np
import pyarrow as pa


def array(values: np.ndarray) -> pa.Array:
    """Numbers as an Arrow array, not copied where they are contiguous."""
    data = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, data])


def numbers(column: pa.Array) -> np.ndarray:
    """The numbers of a column without nulls."""
    dtype = np.dtype(f"{'u' if str(column.type).startswith('u') else 'i'}{column.type.bit_width // 8}")
    start, data = column.offset, column.buffers()[1] or b""
    return np.frombuffer(data, dtype)[start : start + len(column)]


def one_value(value: bytes | pa.Buffer) -> pa.Array:
    """An array of one value of bytes."""
    ends = pa.py_buffer(np.array([0, len(value)], np.int32))
    return pa.Array.from_buffers(pa.binary(), 1, [None, ends, pa.py_buffer(value)])


def matrix(column: pa.Array) -> np.ndarray:
    """The codes of a column without nulls, all of one width, as a matrix of bytes."""
    if pa.types.is_int64(column.type):
        return numbers(column).view(np.uint8).reshape(len(column), 8)
    width = len(column[0].as_buffer()) if len(column) else 1
    flat = column.cast(pa.binary(width))
    values = np.frombuffer(flat.buffers()[1] or b"", np.uint8)
    start = flat.offset * width
    return values[start : start + len(flat) * width].reshape(len(flat), width)
