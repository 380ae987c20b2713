"""Codes as a column: only the columns that are hashed leave the JVM."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType

from ..command import stream
from .rows import Batches


def options(**named: object) -> list[str]:
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


def fingerprint(
    *columns: str | Column,
    bits: int = 256,
    seed: int = 0,
    projection: str | None = None,
    on_error: str = "stop",
    **text: object,
) -> Column:
    """The codes of a column of vectors (arrays of numbers), of texts, or of sparse rows (a map, or
    two columns: indices and values), as a column of bytes. A null, a text without words and a zero
    vector have a null code. `on_error="null"`: so have rows that cannot be hashed. Further options,
    for texts: tokens, normalize, counting, and frequencies, a path that each worker has of a table
    that `halfspace frequencies` made of a sample.

    >>> codes = rows.select("id", fingerprint("embedding", bits=128).alias("code"))
    """
    given = options(bits=bits, seed=seed, projection=projection, on_error=on_error, **text)

    def codes(batches: Batches) -> Iterator[pa.Array]:
        first = next(batches, None)
        if first is None:
            return
        kind = first.schema.field(0).type
        is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        what = ["--text", "c0"] if is_text else ["--vector", ",".join(first.schema.names)]
        words = ["fingerprint", "-", "-q", *what, *given]
        for batch in stream(words, itertools.chain([first], batches)):
            yield batch.column("code").cast(pa.binary())

    made: Column = _column(codes, len(columns))(*columns)
    return made


def _column(codes: Callable[[Batches], Iterator[pa.Array]], count: int) -> Any:
    """A function of columns whose values are the codes; Spark before 4.1 gives them by way of pandas.
    Spark tells iterators of one column and of several by the types of the function."""
    if hasattr(F, "arrow_udf"):

        def of_arrow(arrays: Any) -> Any:
            return codes(_batch(one) for one in arrays)

        one = pa.Array if count == 1 else tuple[pa.Array, ...]
        of_arrow.__annotations__ = {"arrays": Iterator[one], "return": Iterator[pa.Array]}  # type: ignore[valid-type]
        return F.arrow_udf(of_arrow, BinaryType())

    import pandas as pd
    from pyspark.sql.pandas.functions import pandas_udf

    def of_pandas(series: Any) -> Any:
        batches = (_batch(_of_pandas(one)) for one in series)
        for first in batches:
            if pa.null() not in first.schema.types:
                typed = (_cast(one, first.schema) for one in itertools.chain([first], batches))
                yield from (one.to_pandas() for one in codes(typed))
            else:  # series of nulls have no type
                yield pa.nulls(len(first), pa.binary()).to_pandas()

    kind = pd.Series if count == 1 else tuple[pd.Series, ...]
    of_pandas.__annotations__ = {"series": Iterator[kind], "return": Iterator[pd.Series]}  # type: ignore[valid-type]
    return pandas_udf(of_pandas, BinaryType())  # type: ignore[call-overload]


def _of_pandas(series: Any) -> Any:
    """The Arrow array of a series, or those of several; maps come as dictionaries."""
    if isinstance(series, tuple):
        return tuple(_of_pandas(one) for one in series)
    maps = [one for one in series if isinstance(one, dict)]
    if not maps:
        return pa.Array.from_pandas(series)
    entry = next((entry for one in maps for entry in one.items()), (0, 0.0))
    kind = pa.map_(*(pa.scalar(part).type for part in entry))
    return pa.array([None if one is None else list(one.items()) for one in series], kind)


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = [one.cast(kind) for one, kind in zip(batch.columns, schema.types, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema.names)


def _batch(arrays: Any) -> pa.RecordBatch:
    arrays = list(arrays) if isinstance(arrays, tuple) else [arrays]
    return pa.RecordBatch.from_arrays(arrays, [f"c{i}" for i in range(len(arrays))])
