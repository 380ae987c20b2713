"""How rows come to tasks, by calls that every Spark from 3.5 on has."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

Batches = Iterator[pa.RecordBatch]

#: Ids that the command carries as they are.
KINDS = ("string", "int", "bigint")


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
            numbers = np.asarray(batch.column(task))
            ends = [*(np.flatnonzero(np.diff(numbers)) + 1), len(numbers)]
            for start, end in itertools.pairwise([0, *ends]):
                if end > start:
                    yield int(numbers[start]), batch.slice(start, end - start)

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


def check_ids(rows: DataFrame, name: str = "id") -> None:
    """Fails for ids that the command does not carry, that are null, or that are there twice; `name`
    is what the caller names the column. Where ids do not ascend, their hashes are counted, and the ids
    whose hashes are equal."""
    kind = rows.schema["id"].dataType.simpleString()
    if kind not in KINDS:
        raise TypeError(f'"{name}" expected ids of {", ".join(KINDS)}, got {kind}: cast the column')
    schema = f"ascends boolean, first {kind}, last {kind}"
    spans = list(map(tuple, rows.select("id").mapInArrow(_spans, schema).collect()))
    if all(ascends for ascends, *_ in spans):
        spans.sort()
        if all(last < first for (*_, last), (_, first, _) in itertools.pairwise(spans)):
            return
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


def _spans(batches: Batches) -> Batches:
    """The first and the last id of each batch, up to one in which ids do not ascend."""
    for batch in batches:
        ids = batch.column("id")
        if len(ids) == 0:
            continue
        before, after = ids.slice(0, len(ids) - 1), ids.slice(1)
        ascends = ids.null_count == 0 and pc.all(pc.less(before, after), min_count=0).as_py()
        columns = [pa.array([ascends]), ids.slice(0, 1), ids.slice(len(ids) - 1)]
        yield pa.RecordBatch.from_arrays(columns, ["ascends", "first", "last"])
        if not ascends:
            return
