"""Codes as a column: only the columns that are hashed leave the JVM."""

import contextlib
import itertools
import pathlib
import tempfile

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType

from ..command import run, stream


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
    for texts: tokens, stop_words, counting, hash, and `frequencies`: the table that a call of
    that name returns, or the path of one on every worker."""
    table = text.pop("frequencies", None)
    if not isinstance(table, bytes):
        text, table = {**text, "frequencies": table}, None
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
        with contextlib.ExitStack() as stack:
            if table is not None:
                path = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()), "table.arrow")
                path.write_bytes(table)
                words += ["--frequencies", str(path)]
            for batch in stream(words, itertools.chain([first], batches)):
                yield batch.column("code").cast(pa.binary())

    return F.arrow_udf(_hinted(codes, len(columns)), BinaryType())(*columns)


def frequencies(rows, text, tokens=None, stop_words=None, hash=None):
    """In how many texts of a column each word is, as the bytes of a table for `fingerprint` and `dedup`:
    each task counts its rows, and the driver adds the tables up."""
    words = ["frequencies", "-", "-q", "--text", "text"]
    words += options(tokens=tokens, stop_words=stop_words, hash=hash)

    def count(batches):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "part.arrow")
            for _ in stream([*words, "-o", str(path)], batches, has_output=False):
                pass
            if path.exists():
                yield pa.RecordBatch.from_pydict({"part": pa.array([path.read_bytes()], pa.binary())})

    parts = rows.select(F.col(text).alias("text")).mapInArrow(count, "part binary").toArrow()
    if parts.num_rows == 0:
        no_texts = pa.RecordBatch.from_pydict({"text": pa.array([], pa.string())})
        parts = pa.Table.from_batches(count(iter([no_texts])))
    with tempfile.TemporaryDirectory() as folder:
        paths = [pathlib.Path(folder, f"{i}.arrow") for i in range(parts.num_rows)]
        for path, part in zip(paths, parts.column("part")):
            path.write_bytes(part.as_buffer())
        merged = pathlib.Path(folder, "all.arrow")
        run("frequencies", "--merge", *map(str, paths), "-o", str(merged), "-q")
        return merged.read_bytes()


def _batch(arrays):
    arrays = list(arrays) if isinstance(arrays, tuple) else [arrays]
    return pa.RecordBatch.from_arrays(arrays, [f"c{i}" for i in range(len(arrays))])


def _hinted(codes, count):
    """Spark tells iterators of one column and of several by the types of the function."""
    from collections.abc import Iterator

    one = pa.Array if count == 1 else tuple[pa.Array, ...]
    codes.__annotations__ = {"arrays": Iterator[one], "return": Iterator[pa.Array]}
    return codes
