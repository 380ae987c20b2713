"""How rows come to tasks, by calls that every Spark from 3.5 on has."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from .arrays import numbers

Batches = Iterator[pa.RecordBatch]


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
