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

    named = (F.col(one) if isinstance(one, str) else one for one in columns)
    made: Column = _column(codes)(F.struct(*(one.alias(f"c{i}") for i, one in enumerate(named))))
    return made


def _column(codes: Callable[[Batches], Iterator[pa.Array]]) -> Any:
    """A function of a struct of columns, whose values are the codes; Spark before 4.1 gives them by way of
    pandas. Spark tells functions of iterators by their types."""
    if hasattr(F, "arrow_udf"):

        def of_arrow(structs: Iterator[pa.Array]) -> Iterator[pa.Array]:
            return codes(map(pa.RecordBatch.from_struct_array, structs))

        return F.arrow_udf(of_arrow, BinaryType())

    import pandas as pd
    from pyspark.sql.pandas.functions import pandas_udf

    def of_pandas(frames: Any) -> Any:
        batches = map(_of_pandas, frames)
        for first in batches:
            if pa.null() not in first.schema.types:
                typed = (_cast(one, first.schema) for one in itertools.chain([first], batches))
                yield from (one.to_pandas() for one in codes(typed))
            else:  # series of nulls have no type
                yield pa.nulls(len(first), pa.binary()).to_pandas()

    of_pandas.__annotations__ = {"frames": Iterator[pd.DataFrame], "return": Iterator[pd.Series]}
    return pandas_udf(of_pandas, BinaryType())  # type: ignore[call-overload]


def _of_pandas(frame: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([_of_series(frame[name]) for name in frame], [*frame])


def _of_series(series: Any) -> pa.Array:
    """The Arrow array of a series; maps come as dictionaries."""
    maps = [one for one in series if isinstance(one, dict)]
    if not maps:
        return pa.Array.from_pandas(series)
    entry = next((entry for one in maps for entry in one.items()), (0, 0.0))
    kind = pa.map_(*(pa.scalar(part).type for part in entry))
    return pa.array([None if one is None else list(one.items()) for one in series], kind)


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = [one.cast(kind) for one, kind in zip(batch.columns, schema.types, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema.names)
