"""Codes as a column: only the columns that are hashed leave the JVM."""

import itertools

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType

from ..command import stream


def options(**named):
    """Options of the command by the names of its library: max_distance=3 is --max-distance 3. None
    and False are left out, True is a flag."""
    words = []
    for name, value in named.items():
        if value is None or value is False:
            continue
        words.append("--" + name.replace("_", "-"))
        if value is not True:
            words.append(",".join(value) if isinstance(value, (list, tuple)) else str(value))
    return words


def fingerprint(*columns, bits=256, seed=0, projection=None, on_error="stop", **text):
    """The codes of a column of vectors (arrays of numbers), of texts, or of sparse rows (a map, or
    two columns: indices and values), as a column of bytes. A null, a text without words and a zero
    vector have a null code. `on_error="null"`: so have rows that cannot be hashed. Further options,
    for texts: tokens, stop_words, counting, keywords, hash."""
    given = options(bits=bits, seed=seed, projection=projection, on_error=on_error, **text)

    def codes(arrays):
        batches = (_batch(one) for one in arrays)
        first = next(batches, None)
        if first is None:
            return
        kind = first.schema.field(0).type
        is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        what = ["--text", "c0"] if is_text else ["--vector", ",".join(first.schema.names)]
        words = ["fingerprint", "-", "-q", *what, *given]
        for batch in stream(words, itertools.chain([first], batches)):
            yield batch.column("code").cast(pa.binary())

    return F.arrow_udf(_hinted(codes, len(columns)), BinaryType())(*columns)


def _batch(arrays):
    arrays = list(arrays) if isinstance(arrays, tuple) else [arrays]
    return pa.RecordBatch.from_arrays(arrays, [f"c{i}" for i in range(len(arrays))])


def _hinted(codes, count):
    """Spark tells iterators of one column and of several by the types of the function."""
    from collections.abc import Iterator

    one = pa.Array if count == 1 else tuple[pa.Array, ...]
    codes.__annotations__ = {"arrays": Iterator[one], "return": Iterator[pa.Array]}
    return codes
