"""Plans of components with more rows than a task holds: their stars, a part of the rows at a time."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StructField, StructType

from ..command import stream
from .arrays import array, numbers
from .cells import near_of_two
from .fingerprint import options
from .packing import opened, packed, pieces
from .stages import Checkpoint
from .tasks import Batches, blobs

#: For a row that is near to no head.
NONE = np.iinfo(np.int64).max


def order_of(rule: str, kind: str) -> list[Column]:
    """The order in which rows are preferred by a rule of `dedup`; `kind` is the type of their values."""
    if rule in ("first", "last"):
        return [F.asc("id") if rule == "first" else F.desc("id")]
    value = F.col("value")
    if kind == "string":  # JavaScript compares units of 16 bits
        value = F.encode(value, "UTF-16BE")
    if kind in ("float", "double"):
        value = F.nanvl(value, F.lit(None))
    return [value.asc_nulls_last() if rule.startswith("lowest") else value.desc_nulls_last(), F.asc("id")]


def numbered(rows: DataFrame, order: list[Column], name: str, stages: Checkpoint) -> DataFrame:
    """Rows with their numbers from 0 on in an order: each task counts from a number of its own, so none
    has all rows."""
    ordered = rows.orderBy(*order).withColumn("at", F.monotonically_increasing_id())
    ordered = stages.keep(ordered.withColumn("part", F.spark_partition_id()), "order")
    counts = ordered.groupBy("part").agg(F.min("at").alias("first"), F.count("*").alias("count"))
    shifts, before = [F.lit(None).cast("long")], 0
    for part, first, count in sorted(map(tuple, counts.collect())):
        shifts.append(F.when(F.col("part") == part, F.lit(before - first)))
        before += count
    return ordered.withColumn(name, F.col("at") + F.coalesce(*shifts)).drop("at", "part")


def heads_of_stars(rows: DataFrame, words: list[str], cell_rows: int, stages: Checkpoint) -> DataFrame:
    """The row that each of some ranked rows duplicates, itself where it stays: id, head and distance.
    In turns: one task plans the first `cell_rows` of them, and tasks with the others get those that
    stay; what is near to one is a duplicate of the first such, the rest goes on. There are at most as
    many turns as `cell_rows` go into the rows, and what they find is not shuffled."""
    kind = rows.schema["id"].dataType
    schema = StructType([*rows.schema, StructField("head", kind), StructField("distance", IntegerType())])
    compared = [name for name in ("id", "code", "within") if name in rows.columns]
    within = options(within="within" if "within" in compared else None)
    left, found = rows, []
    while (end := _end(left, cell_rows)) > 0:
        first, rest = left.where(F.col("rank") < end), left.where(F.col("rank") >= end)
        ordered = first.repartition("component").sortWithinPartitions("rank")
        plan = stages.keep(ordered.mapInArrow(_planned([*words, *within]), schema), "first rows")
        stay = plan.where("id = head").coalesce(1).sortWithinPartitions("rank").select(compared)
        heads = blobs(stay.mapInArrow(packed, "rows binary"))
        known = stages.keep(rest.mapInArrow(_near(heads, words, cell_rows), schema), "rows near to these")
        found += [plan, known.where("head is not null")]
        left = known.where("head is null").select(rows.columns)
    every = functools.reduce(DataFrame.unionByName, found)
    return every.select("id", "head", "distance")


def _end(rows: DataFrame, cell_rows: int) -> int:
    """The rank at which the first `cell_rows` rows end, or some of them less; 0 without rows."""
    step = max(1, cell_rows // 8)
    block = F.floor(F.col("rank") / step).alias("block")
    total, end = 0, 0
    for number, count in sorted(map(tuple, rows.groupBy(block).count().collect())):
        total += count
        if total > cell_rows and end > 0:
            break
        end = (number + 1) * step
    return end


def _numbered(rows: pa.RecordBatch | pa.Table, first: int) -> pa.RecordBatch:
    """What the command compares of some rows, with numbers from `first` on as ids."""
    names = [name for name in ("code", "within") if name in rows.schema.names]
    ids = array(np.arange(first, first + rows.num_rows))
    return pa.RecordBatch.from_arrays([ids, *(rows.column(name) for name in names)], ["id", *names])


def _planned(words: list[str]) -> Callable[[Batches], Batches]:
    """Plans rows in the order of their ranks."""

    def plan(batches: Batches) -> Batches:
        rows: list[pa.RecordBatch] = []

        def seen() -> Batches:
            count = 0
            for batch in batches:
                rows.append(batch)
                yield _numbered(batch, count)
                count += batch.num_rows

        for found in stream(["dedup", "-", "-q", *words], seen()):
            known = pa.Table.from_batches(rows)
            own, heads = (known.take(found.column(name)) for name in ("row", "duplicate_of"))
            yield from _with_heads(own, heads.column("id"), found.column("distance"))

    return plan


def _near(heads: list[bytes], words: list[str], cell_rows: int) -> Callable[[Batches], Batches]:
    """Gives rows the first of the heads that they are near to, and the distance from it, or nulls."""

    def find(batches: Batches) -> Batches:
        known = pa.Table.from_batches(opened(heads))
        left = _numbered(known.combine_chunks().to_batches()[0], 0)
        for piece in pieces(batches, cell_rows):
            rows = pa.Table.from_batches(piece).combine_chunks()
            right = _numbered(rows.to_batches()[0], 0)
            nearest = np.full(rows.num_rows, NONE)
            for near in near_of_two(iter([left]), iter([right]), words):
                head, row, distance = map(numbers, near.columns)
                np.minimum.at(nearest, row, head << 16 | distance)
            is_far, found = nearest == NONE, (nearest >> 16, nearest & 0xFFFF)
            first, distance = (pa.array(values, mask=is_far) for values in found)
            yield from _with_heads(rows, known.column("id").take(first), distance)

    return find


def _with_heads(rows: pa.Table, heads: pa.ChunkedArray, distance: pa.Array) -> Batches:
    made = rows.append_column("head", heads).append_column("distance", distance.cast(pa.int32()))
    yield from made.combine_chunks().to_batches()


def plan_of(heads: DataFrame, rows: DataFrame, keep_at_most: int) -> DataFrame:
    """The plan of rows with their heads; `rows` has their ranks."""
    made = heads.join(heads.groupBy("head").agg(F.min("id").alias("group")), "head")
    stays = F.col("id") == F.col("head")
    if keep_at_most > 1:
        place = F.row_number().over(Window.partitionBy("head").orderBy("rank"))
        made = made.join(rows.select("id", "rank"), "id").withColumn("place", place)
        stays = F.col("place") <= keep_at_most
    action = F.when(stays, "keep").otherwise("drop").alias("action")
    other = F.when(stays, F.col("id")).otherwise(F.col("head")).alias("duplicate_of")
    distance = F.when(stays, 0).otherwise(F.col("distance")).alias("distance")
    return made.select("id", "group", action, other, distance)
