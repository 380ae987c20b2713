"""Plans of which rows of groups of near rows to keep. Rows of different components never meet in a
group, so the command makes the plan of whole components, many in a task."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from .cells import CELL_ROWS, Coded, between
from .components import components
from .fingerprint import options
from .giants import PLAN, heads_of_stars, order_of, plan_of, planned
from .pairs import Source, edges
from .stages import Checkpoint
from .survey import survey


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
    if "target_rows" in hashing:
        raise ValueError("target_rows is for `halfspace dedup`: on Spark no task knows all groups")
    columns = {"text": text, "vector": vector, "code": code}
    least = {"min_cosine": min_cosine, "min_jaccard": min_jaccard}
    source = Source.of(max_distance, columns, least, bits, hashing)
    if against is not None and (source.least or within or keep_at_most):
        raise ValueError("against goes by distance alone: leave out the other options")
    rule, value = _rule(keep, text)
    stages = checkpoint or Checkpoint(rows.sparkSession)
    asked = {"keep": keep, "keep_at_most": keep_at_most, "cell_rows": cell_rows}
    stages.begin("dedup", source=source, id=id, within=within, against=against is not None, **asked)
    codes = stages.keep(source.rows(rows, id, within, value=value), "codes")
    parts = []
    if against is not None:
        survey(codes.select("id"), id)
        known = _known(codes, against, max_distance, cell_rows, stages)
        parts.append(known)
        codes = codes.join(known.select("id"), "id", "left_anti")
    coded = Coded.of(codes.drop("value"), stages, id if against is None else None)
    grouped = components(edges(coded, max_distance, cell_rows), stages, cell_rows)
    alike = coded.words(max_distance)
    words = options(keep=rule, keep_at_most=keep_at_most)
    if source.least:
        words += source.exact_words(within)
        compared = source.compared(rows, codes, id)
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
    codes: DataFrame, against: DataFrame, max_distance: int, cell_rows: int, stages: Checkpoint
) -> DataFrame:
    """The plan of the rows that are near to rows which stay, each to its nearest, the least id of those."""
    old = against.select("id", "code")
    kinds = [frame.schema["id"].dataType.simpleString() for frame in (codes, old)]
    if kinds[0] != kinds[1]:
        raise TypeError(f"against expected ids of {kinds[0]}, got {kinds[1]}")
    found = between(codes.select("id", "code"), old, max_distance, cell_rows, stages)
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
