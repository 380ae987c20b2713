"""Plans of which rows of groups of near rows to keep. Rows of different components never meet in a
group, so the command makes the plan of whole components, many in a task."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ..command import on_file, stream
from .cells import CELL_ROWS, Rows, between, components, ties
from .codes import Coded, options
from .pairs import Source
from .stages import Checkpoint
from .travel import Batches, array, joined, kind_of, numbers

PLAN = ["id", "group", "action", "duplicate_of", "distance"]


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
    `keep_at_most` rows of a group stay. `against` has id and code of rows that stay: a row near to one is
    dropped, and its group and duplicate_of are the nearest of them. All else as in `pairs`.

    >>> plan = dedup(pages, id="url", text="body", max_distance=3, keep="longest")
    >>> plan = dedup(today, code="code", against=kept, max_distance=3)
    """
    columns = {"text": text, "vector": vector, "code": code}
    least = {"min_cosine": min_cosine, "min_jaccard": min_jaccard}
    source = Source(columns, least, hashing, id, within, bits, max_distance)
    if against is not None and (source.least or within or keep_at_most):
        raise ValueError("against goes by distance alone: leave out the other options")
    value, order = _order(rows, keep, text)
    stages = checkpoint or Checkpoint(rows.sparkSession)
    asked = {"keep": keep, "keep_at_most": keep_at_most, "cell_rows": cell_rows}
    stages.begin("dedup", source=vars(source), against=against is not None, **asked)
    codes, _ = stages.keep(source.codes(rows, value=value), "codes")
    plans = []
    if against is not None:
        plans.append(_known(codes, against, max_distance, cell_rows, stages, id))
        codes = codes.join(plans[0].select("id"), "id", "left_anti")
    name, own = (id if against is None else None), (bits if source.keys else None)
    coded = Coded.of(codes.drop("value"), stages, name, own, is_tied=True)
    grouped = components(ties(coded, max_distance, cell_rows), stages, cell_rows)
    compared = source.sources(rows, value=value) if source.least else codes
    compared = compared.join(grouped, "id")
    alike = source.words(max_distance) if source.least else coded.words(max_distance)
    giants = []
    if not source.least:
        counts = grouped.groupBy("component").count().where(F.col("count") > cell_rows)
        giants = [row["component"] for row in counts.collect()]
    if giants:
        ordered = compared.where(F.col("component").isin(giants)).orderBy(*order)
        ordered = ordered.withColumn("rank", F.monotonically_increasing_id())
        ranked, _ = stages.keep(ordered, "order")
        by_rank = ranked.drop("id", "value").withColumnRenamed("rank", "id")
        stars = _stars(by_rank, alike, max_distance, cell_rows, stages)
        plans.append(_plan_of(stars, ranked, keep_at_most or 1))
        compared = compared.where(~F.col("component").isin(giants))
    words = [*alike, *options(keep_at_most=keep_at_most)]
    plans.append(_planned(compared, order, words, from_file=bool(source.least)))
    single = codes.select("id").join(grouped.select("id"), "id", "left_anti")
    plan = _plan(single, "id", "id", F.lit("keep"), "id", F.lit(0))
    return functools.reduce(DataFrame.unionByName, plans, plan)


def _plan(rows: DataFrame, *columns: str | Column) -> DataFrame:
    made = (F.col(one) if isinstance(one, str) else one for one in columns)
    return rows.select(*(column.alias(name) for column, name in zip(made, PLAN, strict=True)))


def _known(
    codes: DataFrame, against: DataFrame, max_distance: int, cell_rows: int, stages: Checkpoint, name: str
) -> DataFrame:
    """The plan of the rows that are near to rows which stay, each to its nearest, the least id of those."""
    old = against.select("id", "code")
    kinds = [kind_of(frame) for frame in (codes, old)]
    if kinds[0] != kinds[1]:
        raise TypeError(f"against expected ids of {kinds[0]}, got {kinds[1]}")
    found = between(Coded.of(codes.select("id", "code"), stages, name), old, max_distance, cell_rows)
    least = F.min(F.struct("distance", "id_b")).alias("nearest")
    nearest = found.groupBy(F.col("id_a").alias("id")).agg(least)
    other = F.col("nearest.id_b")
    known = _plan(nearest, "id", other, F.lit("drop"), other, "nearest.distance")
    return stages.keep(known, "near rows")[0]


def _order(rows: DataFrame, keep: str, text: str | None) -> tuple[Column, list[Column]]:
    """The column `value` by which a rule prefers rows, and the order of these."""
    kind, _, column = keep.partition(":")
    value, by_id = F.lit(None).cast("long"), F.desc("id") if kind == "last" else F.asc("id")
    if kind == "longest":
        # In UTF-16, as the command counts.
        value = F.octet_length(F.encode(F.col(column or text or ""), "UTF-16LE"))
    elif kind in ("lowest", "highest"):
        value = F.col(column)
        of_column = rows.select(value).schema[0].dataType.simpleString()
        if of_column == "string":  # JavaScript compares units of 16 bits
            value = F.encode(value, "UTF-16BE")
        if of_column in ("float", "double"):
            value = F.nanvl(value, F.lit(None))
    elif kind not in ("first", "last") or column:
        raise ValueError(
            "keep expected first, last, longest, longest:COLUMN, lowest:COLUMN or highest:COLUMN, "
            f'got "{keep}"'
        )
    by_value = F.col("value").asc_nulls_last() if kind == "lowest" else F.col("value").desc_nulls_last()
    return value, [by_value, by_id]


def _planned(rows: DataFrame, order: list[Column], words: list[str], from_file: bool = False) -> DataFrame:
    """The plan of rows of whole components, which are preferred in an order."""
    read = on_file if from_file else stream

    def plan(batches: Batches) -> Batches:
        own = Rows(batches)
        parts = [*read(["dedup", "-", "-q", *words], own.sent())]
        if not parts:
            return
        found, ids = joined(parts), own.held().column("id")
        row, group = (numbers(found.column(name)) for name in ("row", "group"))
        in_order = ids.take(pc.sort_indices(ids))
        least = np.full(len(ids), len(ids))
        np.minimum.at(least, group, numbers(pc.index_in(ids, in_order))[row])
        columns = [ids.take(found.column("row")), in_order.take(array(least[group])), found.column("action")]
        columns += [ids.take(found.column("duplicate_of")), found.column("distance").cast(pa.int32())]
        yield pa.RecordBatch.from_arrays(columns, PLAN)

    kind = kind_of(rows)
    schema = f"id {kind}, `group` {kind}, action string, duplicate_of {kind}, distance int"
    return rows.repartition("component").sortWithinPartitions(*order).mapInArrow(plan, schema)


def _stars(
    rows: DataFrame, words: list[str], max_distance: int, cell_rows: int, stages: Checkpoint
) -> DataFrame:
    """The row that each of some rows, whose ids are their ranks, duplicates, itself where it stays: id,
    duplicate_of and distance. In turns: tasks plan the first `cell_rows` of them; what is near to one of
    those that stay is a duplicate of the first such, the rest goes on."""
    found: list[DataFrame] = []
    left, count = rows, rows.count()
    while count > 0:
        # Up to a rank that is found with an error of an eighth.
        share = min(1.0, 7 / 8 * cell_rows / count)
        [end] = left.approxQuantile("id", [share], share / 8)
        first, rest = left.where(F.col("id") <= end), left.where(F.col("id") > end)
        plan, _ = stages.keep(_planned(first, [F.asc("id")], words), "first rows")
        heads = first.drop("component").join(plan.where("id = duplicate_of"), "id", "left_semi")
        near = between(Coded.of(heads, stages), rest, max_distance, cell_rows)
        head = F.min(F.struct("id_a", "distance")).alias("head")
        nearest = near.groupBy(F.col("id_b").alias("id")).agg(head)
        known = nearest.select("id", F.col("head.id_a").alias("duplicate_of"), "head.distance")
        known, _ = stages.keep(known, "rows near to these")
        found += [plan.select(known.columns), known]
        left, count = stages.keep(rest.join(known, "id", "left_anti"), "rows left")
    return functools.reduce(DataFrame.unionByName, found)


def _plan_of(stars: DataFrame, ranked: DataFrame, keep_at_most: int) -> DataFrame:
    """The plan of rows by the stars of their ranks."""
    made = stars.withColumnRenamed("id", "rank").join(ranked.select("rank", "id"), "rank")
    head = F.min(F.when(F.col("rank") == F.col("duplicate_of"), F.col("id"))).alias("head")
    of_star = made.groupBy("duplicate_of").agg(F.min("id").alias("group"), head)
    place = F.row_number().over(Window.partitionBy("duplicate_of").orderBy("rank"))
    made = made.join(of_star, "duplicate_of").withColumn("place", place)
    stays = F.col("place") <= keep_at_most
    action = F.when(stays, "keep").otherwise("drop")
    other = F.when(stays, F.col("id")).otherwise(F.col("head"))
    return _plan(made, "id", "group", action, other, F.when(stays, 0).otherwise(F.col("distance")))
