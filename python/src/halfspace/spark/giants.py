"""Plans of components with more rows than a task holds: their stars, a part of the rows at a time."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from . import layout
from .cells import between
from .stages import Checkpoint
from .tasks import Batches

#: Makes the plan of rows, those of a component in one task.
Planned = Callable[[DataFrame], DataFrame]


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


def heads_of_stars(
    rows: DataFrame, planned: Planned, max_distance: int, cell_rows: int, stages: Checkpoint
) -> DataFrame:
    """The row that each of some ranked rows duplicates, itself where it stays: id, head and distance.
    One task plans the first `cell_rows` of them; what is near to a row that stays there is a duplicate
    of the first such, wherever it is; the rest goes on."""
    compared = [name for name in ("id", "code", "within") if name in rows.columns]
    step, left = max(1, cell_rows // 8), rows
    found: list[DataFrame] = []
    while True:
        block = F.floor(F.col("rank") / step).alias("block")
        counts = left.groupBy(block).count().orderBy("block").collect()
        if not counts:
            every: DataFrame = functools.reduce(DataFrame.unionByName, found)
            return every
        total, end = 0, 0
        for number, count in counts:
            total += count
            if total > cell_rows and end > 0:
                break
            end = (number + 1) * step
        first, rest = left.where(F.col("rank") < end), left.where(F.col("rank") >= end)
        plan = stages.keep(planned(first.drop("rank")), "first rows")
        found.append(plan.select("id", F.col("duplicate_of").alias("head"), "distance"))
        stay = plan.where("action = 'keep'").select("id")
        heads = stages.keep(first.join(stay, "id", "left_semi"), "rows that stay")
        near = between(heads.select(compared), rest.select(compared), max_distance, cell_rows, stages)
        near = near.join(heads.select(F.col("id").alias("id_a"), "rank"), "id_a")
        least = F.min(F.struct("rank", "id_a", "distance")).alias("least")
        nearest = near.groupBy(F.col("id_b").alias("id")).agg(least)
        nearest = nearest.select("id", F.col("least.id_a").alias("head"), "least.distance")
        found.append(stages.keep(nearest, "near rows"))
        left = stages.keep(rest.join(found[-1].select("id"), "id", "left_anti"), "other rows")


def heads_of_components(rows: DataFrame) -> DataFrame:
    """The first of each component by rank, and the distance of every row from it."""
    first = F.min_by(F.struct("id", "code"), "rank").alias("first")
    heads = F.broadcast(rows.groupBy("component").agg(first))
    def measured(batches: Batches) -> Batches:
        for batch in batches:
            a, b = (layout.matrix(batch.column(name)) for name in ("code", "other"))
            distances = pa.array(np.unpackbits(a ^ b, axis=1).sum(1).astype(np.int32))
            arrays = [batch.column("id"), batch.column("head"), distances]
            yield pa.RecordBatch.from_arrays(arrays, ["id", "head", "distance"])

    kind = rows.schema["id"].dataType.simpleString()
    both = rows.join(heads, "component")
    both = both.select("id", F.col("first.id").alias("head"), "code", F.col("first.code").alias("other"))
    return both.mapInArrow(measured, f"id {kind}, head {kind}, distance int")


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
