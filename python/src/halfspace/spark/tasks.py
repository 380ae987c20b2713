"""How rows come to tasks, by calls that every Spark from 3.5 on has."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from . import layout
from .arrays import matrix, numbers, one_value

Batches = Iterator[pa.RecordBatch]

#: Ids that the command carries as they are.
KINDS = ("string", "int", "bigint")
#: The least hashes by which distinct codes are counted: their number then errs by 4 %.
SKETCH = 512


def key_of(task: int) -> int:
    """The int whose hash in Spark (Murmur3 with seed 42) is `task`: `repartition` by a column of keys
    sends the rows of a task to the partition of its number."""
    size, value = 2**32, task
    value ^= value >> 16
    value = value * pow(0xC2B2AE35, -1, size) % size
    value ^= value >> 13 ^ value >> 26
    value = value * pow(0x85EBCA6B, -1, size) % size
    value ^= value >> 16
    value = ((value ^ 4) - 0xE6546B64) * pow(5, -1, size) % size
    value = ((value >> 13 | value << 19) % size) ^ 42
    value = value * pow(0x1B873593, -1, size) % size
    value = (value >> 15 | value << 17) % size
    value = value * pow(0xCC9E2D51, -1, size) % size
    return value - size if value >> 31 else value


def to_tasks(frame: DataFrame, tasks: int, task: str, *order: str) -> DataFrame:
    """The rows in `tasks` partitions by their column "key", in the order of `task` and of `order`. A
    task has one partition where keys are those of `key_of`, or hash to it; `runs` reads any."""
    return frame.repartition(tasks, "key").drop("key").sortWithinPartitions(task, *order)


def runs(batches: Batches, task: str) -> Iterator[tuple[int, Batches]]:
    """Yields (task, its batches) for rows in the order of their tasks."""

    def cut() -> Iterator[tuple[int, pa.RecordBatch]]:
        for batch in batches:
            of_row = numbers(batch.column(task))
            ends = [*(np.flatnonzero(np.diff(of_row)) + 1), len(of_row)]
            for start, end in itertools.pairwise([0, *ends]):
                if end > start:
                    yield int(of_row[start]), batch.slice(start, end - start)

    for number, parts in itertools.groupby(cut(), key=lambda part: part[0]):
        yield number, (part for _, part in parts)


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


@dataclass
class Survey:
    """Of rows with values in all columns: how many they are, about how many codes they have, and the
    least and the largest width of a code in bytes."""

    rows: int
    codes: float
    widths: tuple[int, int]


def survey(rows: DataFrame, name: str | None = None) -> Survey:
    """Looks at a column of ids, and of codes where there is one, in one job. With `name`, what the caller
    names the ids, it fails for those that the command does not carry, that are null, or that are there
    twice: where ids do not ascend, their hashes are counted, and the ids whose hashes are equal."""
    kind = check_kind(rows, name) if name else rows.schema["id"].dataType.simpleString()
    parts = rows.mapInArrow(_surveyed, f"first {kind}, last {kind}, found binary").collect()
    found = [np.frombuffer(part["found"], np.int64) for part in parts if part["found"]]
    if name:
        spans = sorted((part["first"], part["last"]) for part in parts if part["first"] is not None)
        is_sure = len(spans) == len(parts) and all(ascends for ascends, *_ in found)
        if not is_sure or any(last >= first for (_, last), (first, _) in itertools.pairwise(spans)):
            _check_unique(rows, name)
    if not found:
        return Survey(0, 0, (0, 0))
    _, counts, narrowest, widest = np.array([one[:4] for one in found]).T
    least = np.unique(np.concatenate([one[4:] for one in found]).view(np.uint64))[:SKETCH]
    codes = len(least) if len(least) < SKETCH else (SKETCH - 1) * 2**64 / int(least[-1])
    used = counts > 0
    widths = (narrowest[used].min(initial=2**31), widest.max())
    return Survey(int(counts.sum()), codes, widths)


def check_kind(rows: DataFrame, name: str) -> str:
    """The type of ids; fails for one that the command does not carry."""
    kind = rows.schema["id"].dataType.simpleString()
    if kind not in KINDS:
        raise TypeError(f'"{name}" expected ids of {", ".join(KINDS)}, got {kind}: cast the column')
    return kind


def _check_unique(rows: DataFrame, name: str) -> None:
    hashed = rows.select("id", F.xxhash64("id").alias("hash"))
    counts = [F.count("*").alias("count"), F.max(F.isnull("id")).alias("has_null")]
    wrong = hashed.groupBy("hash").agg(*counts).where("count > 1 or has_null").select("hash")
    found = wrong.limit(1000).collect()
    if not found:
        return
    some = hashed.where(F.col("hash").isin([row["hash"] for row in found]))
    worst = some.groupBy("id").count().where("count > 1 or id is null").orderBy("id").first()
    if worst is not None and worst["id"] is None:
        raise ValueError(f'"{name}" has a null: each row needs an id')
    if worst is not None:
        raise ValueError(f'"{name}" has the id {worst["id"]!r} {worst["count"]} times: ids must be unique')


def _surveyed(batches: Batches) -> Batches:
    """Of a task: the first and the last id of each batch, since files come in any order. With the last
    one as integers: whether ids ascend in every batch, how many rows have all values, the least and the
    largest width of their codes, and the least hashes of these."""
    first, last, ascends = None, None, True
    rows, narrowest, widest, least = 0, 2**31, 0, np.empty(0, np.uint64)
    for batch in batches:
        if batch.num_rows == 0:
            continue
        ids = batch.column("id")
        before, after = ids.slice(0, len(ids) - 1), ids.slice(1)
        ascends = ascends and ids.null_count == 0 and pc.all(pc.less(before, after), min_count=0).as_py()
        if ascends and first is not None:
            yield pa.RecordBatch.from_arrays([first, last, one_value(b"")], ["first", "last", "found"])
        first, last = ids.slice(0, 1), ids.slice(len(ids) - 1)
        if "code" in batch.schema.names:
            batch = batch.select([one for one in batch.schema.names if one != "id"]).drop_null()
        rows += batch.num_rows
        if "code" not in batch.schema.names or batch.num_rows == 0:
            continue
        codes = batch.column("code")
        is_long = pa.types.is_int64(codes.type)
        widths = (8, 8) if is_long else pc.min_max(pc.binary_length(codes)).as_py().values()
        narrow, wide = widths
        narrowest, widest = min(narrowest, narrow), max(widest, wide)
        if narrowest == widest:
            found = layout.hashes_of(matrix(codes))
            few = found[found < least[-1]] if len(least) == SKETCH else found
            least = np.unique(np.concatenate([least, few]))[:SKETCH]
    if first is not None:
        values = np.concatenate([np.array([ascends, rows, narrowest, widest]), least.view(np.int64)])
        columns = [first, last, one_value(values.astype(np.int64).tobytes())]
        yield pa.RecordBatch.from_arrays(columns, ["first", "last", "found"])
