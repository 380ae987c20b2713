"""Plans of components with more rows than a task holds: their stars, a part of the rows at a time."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StructField, StructType

from ..command import on_file, stream
from .arrays import numbers
from .cells import Rows, near_of_two
from .fingerprint import options
from .packing import opened, packed, pieces
from .stages import Checkpoint
from .tasks import Batches, blobs

PLAN = ["id", "group", "action", "duplicate_of", "distance"]
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


def heads_of_stars(rows: DataFrame, words: list[str], cell_rows: int, stages: Checkpoint) -> DataFrame:
    """The row that each of some ranked rows duplicates, itself where it stays: id, duplicate_of and
    distance. In turns: one task plans the first `cell_rows` of them, and tasks with the others get
    those that stay; what is near to one is a duplicate of the first such, the rest goes on. There are at
    most as many turns as `cell_rows` go into the rows, and what they find is not shuffled."""
    other = StructField("duplicate_of", rows.schema["id"].dataType)
    schema = StructType([*rows.schema, other, StructField("distance", IntegerType())])
    compared = [name for name in ("id", "code", "within") if name in rows.columns]
    within = options(within="within" if "within" in compared else None)
    left, found = rows, []
    while (end := _end(left, cell_rows)) > 0:
        first, rest = left.where(F.col("rank") < end), left.where(F.col("rank") >= end)
        plan = planned(first, "rank", [*words, *within], rows.columns).select(schema.names)
        plan = stages.keep(plan, "first rows")
        stay = plan.where("id = duplicate_of").coalesce(1).sortWithinPartitions("rank").select(compared)
        heads = blobs(stay.mapInArrow(packed, "rows binary"))
        known = stages.keep(rest.mapInArrow(_near(heads, words, cell_rows), schema), "rows near to these")
        found += [plan, known.where("duplicate_of is not null")]
        left = known.where("duplicate_of is null").select(rows.columns)
    every = functools.reduce(DataFrame.unionByName, found)
    return every.select("id", "duplicate_of", "distance")


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


def planned(
    rows: DataFrame, order: str, words: list[str], held: list[str], from_file: bool = False
) -> DataFrame:
    """The plan of rows of whole components, in an order within each: the columns `held`, and group,
    action, duplicate_of and distance."""
    read = on_file if from_file else stream

    def plan(batches: Batches) -> Batches:
        own = Rows(batches, *held)
        for found in read(["dedup", "-", "-q", *words], own.sent()):
            kept = own.held().take(found.column("row"))
            group, other = (own.ids(found.column(name)) for name in ("group", "duplicate_of"))
            made = [group, found.column("action"), other, found.column("distance").cast(pa.int32())]
            yield pa.RecordBatch.from_arrays([*kept.columns, *made], [*held, *PLAN[1:]])

    kind = rows.schema["id"].dataType.simpleString()
    known = (f"`{name}` {rows.schema[name].dataType.simpleString()}" for name in held)
    schema = ", ".join([*known, f"`group` {kind}, action string, duplicate_of {kind}, distance int"])
    return rows.repartition("component").sortWithinPartitions(order).mapInArrow(plan, schema)


def _near(heads: list[bytes], words: list[str], cell_rows: int) -> Callable[[Batches], Batches]:
    """Gives rows the first of the heads that they are near to, and the distance from it, or nulls."""

    def find(batches: Batches) -> Batches:
        for piece in pieces(batches, cell_rows):
            rows = pa.Table.from_batches(piece).combine_chunks().to_batches()[0]
            nearest, left = np.full(rows.num_rows, NONE), Rows(opened(heads))
            for near in near_of_two(left, Rows(iter([rows])), words):
                head, row, distance = (numbers(near.column(name)) for name in ("a", "b", "distance"))
                np.minimum.at(nearest, row, head.astype(np.int64) << 16 | distance)
            is_far, found = nearest == NONE, (nearest >> 16, nearest & 0xFFFF)
            first, distance = (pa.array(values, mask=is_far) for values in found)
            made = [left.ids(first), distance.cast(pa.int32())]
            names = [*rows.schema.names, "duplicate_of", "distance"]
            yield pa.RecordBatch.from_arrays([*rows.columns, *made], names)

    return find


def plan_of(heads: DataFrame, rows: DataFrame, keep_at_most: int) -> DataFrame:
    """The plan of rows with what they duplicate; `rows` has their ranks."""
    made = heads.join(heads.groupBy("duplicate_of").agg(F.min("id").alias("group")), "duplicate_of")
    stays = F.col("id") == F.col("duplicate_of")
    if keep_at_most > 1:
        place = F.row_number().over(Window.partitionBy("duplicate_of").orderBy("rank"))
        made = made.join(rows.select("id", "rank"), "id").withColumn("place", place)
        stays = F.col("place") <= keep_at_most
    action = F.when(stays, "keep").otherwise("drop").alias("action")
    other = F.when(stays, F.col("id")).otherwise(F.col("duplicate_of")).alias("duplicate_of")
    distance = F.when(stays, 0).otherwise(F.col("distance")).alias("distance")
    return made.select("id", "group", action, other, distance)
