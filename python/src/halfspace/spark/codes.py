"""Codes of rows: how they are made, and how rows with codes are packed. One look at them says whether their
ids are unique and how many they are, and takes a sample of their codes."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from ..command import stream
from . import travel
from .stages import Checkpoint
from .travel import Batches

#: Ids that the command carries as they are, and their types in Arrow.
KINDS = {"string": pa.string(), "int": pa.int32(), "bigint": pa.int64()}
#: Bytes of a key, of which some stand behind a code: nearly all texts that are alike share one of them.
KEY_BYTES = 4
#: How many codes of a value of rows the driver gets.
SAMPLE = 512
#: What a task gives for each value of rows.
LOOKED_AT = "rows binary, equal binary, sample binary, seen binary"


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
    rows: DataFrame,
    *columns: str,
    bits: int = 256,
    seed: int = 0,
    projection: str | None = None,
    output: str = "code",
    keep_columns: bool = False,
    **text: object,
) -> DataFrame:
    """The rows with a column `output` of codes as bytes in place of what is hashed: a column of vectors
    (arrays of numbers), of texts, or of sparse rows (a map, or two columns: indices and values). With
    `keep_columns` this stays. All columns go through Python: select those that are wanted. A null, a text
    without words and a zero vector have a null code. Further options, for texts: tokens, counting, and
    frequencies, a path that each worker has of a table that `halfspace frequencies` made of a sample.

    >>> codes = fingerprint(rows.select("id", "embedding"), "embedding", bits=128)
    """
    left_out = {output} if keep_columns else {output, *columns}
    others = [name for name in rows.columns if name not in left_out]
    names = [f"c{i}" for i in range(len(columns))]
    is_text = isinstance(rows.schema[columns[0]].dataType, StringType)
    words = ["fingerprint", "-", "-q", "--text" if is_text else "--vector", ",".join(names)]
    words += options(bits=bits, seed=seed, projection=projection, **text)

    def codes(batches: Batches) -> Batches:
        waiting: list[pa.RecordBatch] = []

        def sent() -> Batches:
            for batch in batches:
                waiting.append(batch)
                yield pa.RecordBatch.from_arrays([batch.column(one) for one in columns], names)

        for made in stream(words, sent()):
            count = len(waiting)  # more may come meanwhile
            rows = pa.Table.from_batches(waiting[:count])
            waiting[:count] = rows.slice(len(made)).to_batches()
            whole = [*rows.slice(0, len(made)).select(others).columns, made.column("code").cast(pa.binary())]
            yield from pa.Table.from_arrays(whole, [*others, output]).to_batches()

    schema = StructType([*(rows.schema[name] for name in others), StructField(output, BinaryType())])
    return rows.mapInArrow(codes, schema)


class Coded:
    """Rows with codes, packed: id, code, and `within` where rows of one value meet alone."""

    def __init__(
        self,
        frame: DataFrame,
        stages: Checkpoint,
        name: str | None = None,
        bits: int | None = None,
        is_tied: bool = False,
        ids: DataFrame | None = None,
    ) -> None:
        """The rows of a frame with values in all columns: codes are bytes of one width, or a long. Checks
        ids, which the caller names `name`, and which `ids` has too. The frame is computed once, and kept.
        What is behind `bits` of a code are keys. With `is_tied` rows with equal codes may leave one of
        them."""
        check_kind(frame, name or "id")
        looked_at = frame.mapInArrow(lambda batches: _look(is_tied, batches), LOOKED_AT)
        kept, rows = stages.keep(looked_at, "packed codes", lambda kept: kept.drop("rows", "equal").collect())
        found = [{**json.loads(row["seen"]), "sample": row["sample"]} for row in rows]
        spans = [span for one in found for span in one["spans"]]
        ascend = None not in spans and all(a[1] < b[0] for a, b in itertools.pairwise(sorted(spans)))
        if name is not None and not ascend:
            check_ids(frame if ids is None else ids, name)
        used = [one for one in found if one["rows"] > 0]
        widths = {width for one in used for width in one["widths"]} or {1}
        if len(widths) > 1:
            raise ValueError(f"expected codes of one width, got {min(widths)} and {max(widths)} bytes")
        [width] = widths
        own = min(width, -(-(bits or 8 * width) // 8))
        #: Bits of a code without its keys, and how many of these are behind it.
        self.bits, self.keys = 8 * own, (width - own) // KEY_BYTES
        #: The types of the columns.
        self.kinds = {one: travel.kind_of(frame, one) for one in frame.columns}
        self.packed = kept.select("rows").where("rows is not null")
        self.count = sum(one["rows"] for one in used)
        codes = np.frombuffer(b"".join(one["sample"] for one in used), np.uint8).reshape(-1, width)
        some = [len(one["sample"]) // width for one in used]
        #: Some codes, and how many rows each of them stands for.
        self.sample = codes, np.repeat([one["rows"] for one in used], some) / np.repeat(some, some)
        #: Pairs id_a, id_b of rows with equal codes, of which the second is not packed.
        equal, kind = kept.select(F.col("equal").alias("rows")).where("rows is not null"), self.kinds["id"]
        self.equal = equal.mapInArrow(travel.unpacked, f"id_a {kind}, id_b {kind}")

    def words(self, max_distance: int, has_within: bool | None = None) -> list[str]:
        """How the command reads and compares the rows: codes of bytes tell their width."""
        bits = 64 if self.kinds["code"] == "bigint" else None
        within = "within" if ("within" in self.kinds if has_within is None else has_within) else None
        return options(code="code", bits=bits, max_distance=max_distance, within=within)


def check_kind(rows: DataFrame, name: str) -> str:
    """The type of ids; fails for one that the command does not carry."""
    kind = travel.kind_of(rows)
    if kind not in KINDS:
        raise TypeError(f'"{name}" expected ids of {", ".join(KINDS)}, got {kind}: cast the column')
    return kind


def check_ids(rows: DataFrame, name: str) -> None:
    """Fails also for ids that are null, or there twice: their hashes are counted, and the ids whose hashes
    are equal."""
    check_kind(rows, name)
    hashed = rows.select("id", F.xxhash64("id").alias("hash"))
    counts = [F.count("*").alias("count"), F.max(F.isnull("id")).alias("has_null")]
    wrong = hashed.groupBy("hash").agg(*counts).where("count > 1 or has_null").select("hash")
    hashes = [row["hash"] for row in wrong.limit(1000).collect()]
    some = hashed.where(F.col("hash").isin(hashes)).groupBy("id").count()
    worst = some.where("count > 1 or id is null").orderBy("id").first() if hashes else None
    if worst is not None and worst["id"] is None:
        raise ValueError(f'"{name}" has a null: each row needs an id')
    if worst is not None:
        raise ValueError(f'"{name}" has the id {worst["id"]!r} {worst["count"]} times: ids must be unique')


def _look(is_tied: bool, batches: Batches) -> Batches:
    """Packs rows with values in all columns. Says of each value how many rows it has, the least and the
    largest width of their codes, and the span of the ids of each batch, null where they do not ascend: not
    merged, since batches are of files, which come in any order, and a span with gaps would hide others."""
    for piece in travel.pieces(batches, travel.PACKED_ROWS):
        parts = list(piece)
        rows = travel.joined(parts).drop_null()
        seen: dict[str, Any] = {"spans": [_span(one.column("id")) for one in parts]}
        values: dict[str, Any] = dict.fromkeys(("rows", "equal", "sample"))
        if len(rows) > 0:
            if is_tied:
                rows, values["equal"] = _untied(rows)
            codes, some = rows.column("code"), min(SAMPLE, len(rows))
            is_long = pa.types.is_int64(codes.type)
            narrow, wide = (8, 8) if is_long else pc.min_max(pc.binary_length(codes)).as_py().values()
            if narrow == wide:
                chosen = codes.take(travel.array(np.arange(some) * len(rows) // some))
                values["sample"] = travel.matrix(chosen).tobytes()
            seen["widths"], values["rows"] = [narrow, wide], travel.as_value(rows)
        yield travel.one_row(**values, seen=json.dumps({**seen, "rows": len(rows)}).encode())


def _span(ids: pa.Array) -> list[Any] | None:
    """The first and the last of ids that ascend."""
    ascend = ids.null_count == 0 and pc.all(pc.less(ids.slice(0, len(ids) - 1), ids.slice(1)), min_count=0)
    return [ids[0].as_py(), ids[-1].as_py()] if ascend and ascend.as_py() else None


def _untied(rows: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.Buffer | None]:
    """One row of each code, and the ids of the others, each with that of the row with its code."""
    number = np.zeros(len(rows), np.int64)
    for name in {"code", "within"}.intersection(rows.schema.names):
        column = rows.column(name).dictionary_encode()
        number = number * len(column.dictionary) + travel.numbers(column.indices)
    _, first, of_code = np.unique(number, return_index=True, return_inverse=True)
    if len(first) == len(rows):
        return rows, None
    others = np.flatnonzero(first[of_code] != np.arange(len(rows)))
    ends = [rows.column("id").take(travel.array(one)) for one in (first[of_code[others]], others)]
    equal = pa.RecordBatch.from_arrays(ends, ["id_a", "id_b"])
    return rows.take(travel.array(np.sort(first))), travel.as_value(equal)
