"""Plans of which rows of groups of near rows to keep. Rows of different components never meet in a
group, so the command makes the plan of whole components, many in a task."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StructField, StructType

from ..command import on_file, stream
from .cells import CELL_ROWS, Coded, Rows, between, near_of_two
from .components import components
from .fingerprint import options
from .pairs import Source, edges
from .rows import Batches, blobs, numbers, opened, packed, pieces
from .stages import Checkpoint

PLAN = ["id", "group", "action", "duplicate_of", "distance"]
#: For a row that is near to no head.
NONE = np.iinfo(np.int64).max


def dedup(
    rows: DataFrame,
    *,
    max_distance: int,
    id: str = "id",
    text: str | None = None,
    vector: str | None = None,
    code: str | None = None,
    against: DataFrame | None = None,
    within: str | None = None,
    min_cosine: float | None = None,
    min_jaccard: float | None = None,
    keep: str = "first",
    keep_at_most: int | None = None,
    bits: int = 64,
    cell_rows: int = CELL_ROWS,
    checkpoint: Checkpoint | None = None,
    **hashing: Any,
) -> DataFrame:
    """The plan of which rows to keep: a DataFrame of id, group (its least id), action (keep or drop),
    duplicate_of and distance. It is the plan that `halfspace dedup` makes of the same rows in the
    order of their ids. `keep`: first, last (by id), longest (text), lowest:COLUMN, or highest:COLUMN;
    `keep_at_most` rows of a group stay. Nothing is dropped.
    Components of more than `cell_rows` rows are planned by many tasks, unless they are compared
    exactly.

    `against` has id and code of rows that stay: a row near to one is dropped, and its group and
    duplicate_of are the nearest of them. `within`, `min_cosine` and `min_jaccard` as in `pairs`.

    >>> plan = dedup(pages, id="url", text="body", max_distance=3, keep="longest")
    >>> plan = dedup(today, code="code", against=kept, max_distance=3)
    """
    columns = {"text": text, "vector": vector, "code": code}
    least = {"min_cosine": min_cosine, "min_jaccard": min_jaccard}
    source = Source(columns, least, hashing, id=id, within=within, bits=bits, max_distance=max_distance)
    if against is not None and (source.least or within or keep_at_most):
        raise ValueError("against goes by distance alone: leave out the other options")
    rule, value = _rule(keep, text)
    stages = checkpoint or Checkpoint(rows.sparkSession)
    asked = {"keep": keep, "keep_at_most": keep_at_most, "cell_rows": cell_rows}
    stages.begin("dedup", source=vars(source), against=against is not None, **asked)
    codes = stages.keep(source.rows(rows, value=value), "codes")
    parts = []
    if against is not None:
        known = _known(codes, against, max_distance, cell_rows, stages, id)
        parts.append(known)
        codes = codes.join(known.select("id"), "id", "left_anti")
    coded = Coded.of(
        codes.drop("value"), stages, id if against is None else None, bits if source.keys else None
    )
    grouped = components(edges(coded, max_distance, cell_rows), stages, cell_rows)
    alike = coded.words(max_distance)
    words = options(keep=rule, keep_at_most=keep_at_most)
    if source.least:
        words += source.exact_words(max_distance)
        compared = source.compared(rows, codes)
    else:
        words += [*alike, *options(within=within and "within")]
        compared = codes
    compared = compared.join(grouped, "id")
    counts = grouped.groupBy("component").count().where(F.col("count") > cell_rows)
    giants = [] if source.least else [row["component"] for row in counts.collect()]
    if giants:
        order = order_of(rule, codes.schema["value"].dataType.simpleString())
        ordered = compared.where(F.col("component").isin(giants)).orderBy(*order)
        ranked = stages.keep(ordered.withColumn("rank", F.monotonically_increasing_id()), "order")
        heads = heads_of_stars(ranked, alike, cell_rows, stages)
        parts.append(plan_of(heads, ranked, keep_at_most or 1))
        compared = compared.where(~F.col("component").isin(giants))
    parts.append(planned(compared, "id", words, ["id"], from_file=bool(source.least)))
    single = codes.select("id").join(grouped.select("id"), "id", "left_anti")
    plan = _plan(single, "id", "id", F.lit("keep"), "id", F.lit(0))
    for part in parts:
        plan = plan.unionByName(part)
    return plan


def _plan(rows: DataFrame, *columns: str | Column) -> DataFrame:
    made = (F.col(one) if isinstance(one, str) else one for one in columns)
    return rows.select(*(column.alias(name) for column, name in zip(made, PLAN, strict=True)))


def _known(
    codes: DataFrame, against: DataFrame, max_distance: int, cell_rows: int, stages: Checkpoint, name: str
) -> DataFrame:
    """The plan of the rows that are near to rows which stay, each to its nearest, the least id of those."""
    old = against.select("id", "code")
    kinds = [frame.schema["id"].dataType.simpleString() for frame in (codes, old)]
    if kinds[0] != kinds[1]:
        raise TypeError(f"against expected ids of {kinds[0]}, got {kinds[1]}")
    found = between(codes.select("id", "code"), old, max_distance, cell_rows, stages, name)
    least = F.min(F.struct("distance", "id_b")).alias("nearest")
    nearest = found.groupBy(F.col("id_a").alias("id")).agg(least)
    other = F.col("nearest.id_b")
    return stages.keep(_plan(nearest, "id", other, F.lit("drop"), other, "nearest.distance"), "near rows")


def _rule(keep: str, text: str | None) -> tuple[str, Column]:
    """The rule of the command and the values that it goes by."""
    kind, _, column = keep.partition(":")
    if kind == "longest":
        # In UTF-16, as the command counts.
        units = F.octet_length(F.encode(F.col(column or text or ""), "UTF-16LE")) / 2
        return "highest:value", units.cast("long")
    if kind in ("lowest", "highest"):
        return f"{kind}:value", F.col(column)
    if kind in ("first", "last") and not column:
        return kind, F.lit(None).cast("long")
    raise ValueError(
        "keep expected first, last, longest, longest:COLUMN, lowest:COLUMN or highest:COLUMN, "
        f'got "{keep}"'
    )


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
    those that stay; what is near to one is a duplicate of the first such, the rest goes on. There are few
    more turns than `cell_rows` go into the rows, and what they find is not shuffled."""
    other = StructField("duplicate_of", rows.schema["id"].dataType)
    schema = StructType([*rows.schema, other, StructField("distance", IntegerType())])
    compared = [name for name in ("id", "code", "within") if name in rows.columns]
    within = options(within="within" if "within" in compared else None)
    left, found = rows, []
    while (count := left.count()) > 0:
        # Up to a rank that is found with an error of an eighth.
        share = min(1.0, 7 / 8 * cell_rows / count)
        [end] = left.approxQuantile("rank", [share], share / 8)
        first, rest = left.where(F.col("rank") <= end), left.where(F.col("rank") > end)
        plan = planned(first, "rank", [*words, *within], rows.columns).select(schema.names)
        plan = stages.keep(plan, "first rows")
        stay = plan.where("id = duplicate_of").coalesce(1).sortWithinPartitions("rank").select(compared)
        heads = blobs(stay.mapInArrow(packed, "rows binary"))
        known = stages.keep(rest.mapInArrow(_near(heads, words, cell_rows), schema), "rows near to these")
        found += [plan, known.where("duplicate_of is not null")]
        left = known.where("duplicate_of is null").select(rows.columns)
    every = functools.reduce(DataFrame.unionByName, found)
    return every.select("id", "duplicate_of", "distance")


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
