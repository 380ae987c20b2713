"""Near rows of tables: every pair, each once, and plans of which rows to keep. Rows of different components
never meet in a group, so the command makes the plan of whole components, many in a task."""

from __future__ import annotations

import functools
import math
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import MapType

from ..command import on_file, stream
from .cells import CELL_ROWS, Rows, between, components, near, pairs_of, ties
from .codes import Coded, check_kind, fingerprint, options
from .stages import Checkpoint
from .travel import Batches, array, joined, kind_of, numbers

#: How the command hashes sparse rows, and texts that are no sets, where it looks for near ones.
SPARSE = {"projection": "gaussian"}
NEAR_TEXT = {"tokens": "shingles:2", "counting": "log", **SPARSE}
SETS = {"tokens": "shingles:2", "projection": "minwise"}
PLAN = ["id", "group", "action", "duplicate_of", "distance"]


@dataclass
class Source:
    """What makes rows near: a column of texts, vectors or codes, and how near they must be."""

    columns: dict[str, str | None]
    least: dict[str, Any]
    hashing: dict[str, Any]
    id: str
    within: str | None
    bits: int
    max_distance: int

    def __post_init__(self) -> None:
        given = {kind: column for kind, column in self.columns.items() if column is not None}
        if len(given) != 1:
            raise ValueError("give one of text, vector and code")
        [(self.kind, self.column)] = given.items()
        if self.kind == "code" and self.hashing:
            raise ValueError(f"code has ready codes: leave out {', '.join(self.hashing)}")
        self.least = {name: value for name, value in self.least.items() if value is not None}
        if self.least.keys() - {{"vector": "min_cosine", "text": "min_jaccard"}.get(self.kind)}:
            raise ValueError(f"min_cosine compares vectors, min_jaccard texts: give them, not {self.kind}=")
        usual = {} if self.kind != "text" else SETS if self.least else NEAR_TEXT
        self.hashing = {**usual, **self.hashing}
        #: The least similarity by which keys stand behind the codes, where these are of sets of texts.
        self.keys = self.least.get("min_jaccard") if self.hashing.get("projection") == "minwise" else None

    def sources(self, frame: DataFrame, **more: Column) -> DataFrame:
        """The columns id, within, those of `more`, and what is compared, as `source`."""
        columns = {"id": F.col(self.id), **more}
        if self.within is not None:
            columns["within"] = F.col(self.within).cast("string")
        columns["source"] = F.col(self.column)
        return frame.select(*(column.alias(name) for name, column in columns.items()))

    def codes(self, frame: DataFrame, **more: Column) -> DataFrame:
        """The same rows with codes in place of what they are made of."""
        rows = self.sources(frame, **more)
        if self.kind == "code":
            return rows.withColumnRenamed("source", "code")
        is_sparse = isinstance(rows.schema["source"].dataType, MapType)
        hashing = {**(SPARSE if is_sparse else {}), **self.hashing}
        return fingerprint(rows, "source", bits=self.bits, keys=self.keys, **hashing)

    def words(self, max_distance: int | None) -> list[str]:
        """How the command reads and compares rows exactly, from a file. Without a distance it finds texts by
        their keys."""
        how = {"tokens": self.hashing["tokens"]} if "tokens" in self.hashing else {}
        words = [f"--{self.kind}", "source", *options(bits=self.bits, max_distance=max_distance)]
        return [*words, *options(**self.least, **how, within=self.within and "within")]


def pairs(
    rows: DataFrame,
    other: DataFrame | None = None,
    *,
    max_distance: int,
    id: str = "id",
    text: str | None = None,
    vector: str | None = None,
    code: str | None = None,
    within: str | None = None,
    min_cosine: float | None = None,
    min_jaccard: float | None = None,
    bits: int = 64,
    cell_rows: int = CELL_ROWS,
    checkpoint: Checkpoint | None = None,
    **hashing: Any,
) -> DataFrame:
    """The pairs of rows whose codes differ in at most `max_distance` bits: a DataFrame of id_a, id_b
    and distance, with id_a < id_b; or with `other`, the larger table, of a row of each. Codes are the
    column `code` of bytes or longs ("code"), or made of `text` or `vector`, by options of
    `fingerprint`. Rows without a code are in no pair.

    `within`: only rows of the same value in this column. `min_cosine` (of vectors), `min_jaccard` (of
    texts): only pairs that are as similar, exactly; texts or vectors are fetched for rows of pairs.

    >>> near = pairs(codes, max_distance=3)
    >>> known = pairs(today, kept, max_distance=3)
    >>> alike = pairs(pages, id="url", text="body", max_distance=20, min_jaccard=0.8)
    """
    columns = {"text": text, "vector": vector, "code": code or (None if text or vector else "code")}
    least = {"min_cosine": min_cosine, "min_jaccard": min_jaccard}
    source = Source(columns, least, hashing, id, within, bits, max_distance)
    if other is not None and source.least:
        raise ValueError(f"{min(source.least)} compares the rows of one table, not of two")
    stages = checkpoint or Checkpoint(rows.sparkSession)
    stages.begin("pairs", source=vars(source), cell_rows=cell_rows)
    codes, ids = source.codes(rows), source.sources(rows)
    if other is not None:
        there = source.codes(other)
        check_kind(there, id)
        if source.kind != "code":
            there, _ = stages.keep(there, "codes")
        return between(Coded(codes, stages, id, ids=ids), there, max_distance, cell_rows)
    own = bits if source.keys else None
    coded = Coded(codes, stages, id, own, is_tied=bool(source.least), ids=ids)
    if not source.least:
        return near(coded, max_distance, cell_rows)
    grouped = components(ties(coded, max_distance, cell_rows), stages, cell_rows)
    return _exact(ids.join(grouped, "id"), source)


def _exact(rows: DataFrame, source: Source) -> DataFrame:
    """The pairs within components that are as similar as wanted: no other pairs are near."""
    [name] = (least.removeprefix("min_") for least in source.least)
    most = pa.scalar(source.max_distance, pa.uint16())
    words = ["pairs", "-", "-q", *source.words(None if source.keys else source.max_distance)]

    def compare(batches: Batches) -> Batches:
        own = Rows(batches)
        for found in on_file(words, own.sent()):
            found = found.filter(pc.less_equal(found.column("distance"), most))
            columns = [*pairs_of(own, own, found).columns, found.column(name)]
            yield pa.RecordBatch.from_arrays(columns, ["id_a", "id_b", "distance", name])

    kind = kind_of(rows)
    parts = rows.repartition("component").sortWithinPartitions("id")
    return parts.mapInArrow(compare, f"id_a {kind}, id_b {kind}, distance int, {name} double")


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
    kind = check_kind(source.sources(rows), id)
    if against is not None and kind_of(against) != kind:
        raise TypeError(f"against expected ids of {kind}, got {kind_of(against)}")
    stages = checkpoint or Checkpoint(rows.sparkSession)
    asked = {"keep": keep, "keep_at_most": keep_at_most, "cell_rows": cell_rows}
    stages.begin("dedup", source=vars(source), against=against is not None, **asked)
    codes, _ = stages.keep(source.codes(rows, value=value), "codes")
    plans = []
    if against is not None:
        plans.append(_known(codes, against.select("id", "code"), max_distance, cell_rows, stages, id))
        codes = codes.join(plans[0].select("id"), "id", "left_anti")
    name, own = (id if against is None else None), (bits if source.keys else None)
    coded = Coded(codes.drop("value"), stages, name, own, is_tied=True)
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
    plan = _plan(single, "id", "id", "'keep'", "id", "0")
    return functools.reduce(DataFrame.unionByName, plans, plan)


def _plan(rows: DataFrame, *columns: str) -> DataFrame:
    return rows.selectExpr(*(f"{one} as `{name}`" for one, name in zip(columns, PLAN, strict=True)))


def _known(
    codes: DataFrame, against: DataFrame, max_distance: int, cell_rows: int, stages: Checkpoint, name: str
) -> DataFrame:
    """The plan of the rows that are near to rows which stay, each to its nearest, the least id of those."""
    found = between(Coded(codes.select("id", "code"), stages, name), against, max_distance, cell_rows)
    least = F.min(F.struct("distance", "id_b")).alias("nearest")
    nearest = found.groupBy(F.col("id_a").alias("id")).agg(least)
    known = _plan(nearest, "id", "nearest.id_b", "'drop'", "nearest.id_b", "nearest.distance")
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
        near = between(Coded(heads, stages), rest, max_distance, cell_rows)
        head = F.min(F.struct("id_a", "distance")).alias("head")
        nearest = near.groupBy(F.col("id_b").alias("id")).agg(head)
        known = nearest.select("id", F.col("head.id_a").alias("duplicate_of"), "head.distance")
        known, _ = stages.keep(known, "rows near to these")
        found += [plan.select(known.columns), known]
        left, count = stages.keep(rest.join(known, "id", "left_anti"), "rows left")
    return functools.reduce(DataFrame.unionByName, found)


def _plan_of(stars: DataFrame, ranked: DataFrame, keep_at_most: int) -> DataFrame:
    """The plan of rows by the stars of their ranks, of which each has its head first."""
    star = Window.partitionBy("duplicate_of")
    in_order = star.orderBy("rank")
    of_star = {"group": F.min("id").over(star), "head": F.first("id").over(in_order)}
    rows = stars.withColumnRenamed("id", "rank").join(ranked.select("rank", "id"), "rank")
    rows = rows.withColumns({**of_star, "stays": F.row_number().over(in_order) <= keep_at_most})
    made = (f"if(stays, {one})" for one in ("'keep', 'drop'", "id, head", "0, distance"))
    return _plan(rows, "id", "`group`", *made)


@dataclass
class SimHashModel:
    """The form of Spark's `MinHashLSH`: codes of vectors (arrays, or the `vector_to_array` of pyspark.ml) by
    cosine, or of texts by the Jaccard similarity of their pairs of words. There is nothing to fit.

    >>> model = SimHashModel("embedding", "code", bits=256)
    >>> coded = model.transform(rows)
    >>> near = model.approxSimilarityJoin(rows, rows, 0.95)
    """

    inputCol: str
    outputCol: str = "code"
    _: KW_ONLY
    id: str = "id"
    bits: int = 256
    measure: str = "cosine"

    def __post_init__(self) -> None:
        if self.measure not in ("cosine", "jaccard"):
            raise ValueError(f'measure expected cosine or jaccard, got "{self.measure}"')
        self._hashing: dict[str, Any] = {} if self.measure == "cosine" else {**SETS, "counting": None}

    def transform(self, dataset: DataFrame) -> DataFrame:
        """The rows with a column of codes.

        >>> codes = SimHashModel("body", measure="jaccard").transform(pages)
        """
        how = {"output": self.outputCol, "keep_columns": True, **self._hashing}
        return fingerprint(dataset, self.inputCol, bits=self.bits, **how)

    def approxSimilarityJoin(self, datasetA: DataFrame, datasetB: DataFrame, threshold: float) -> DataFrame:
        """The pairs whose codes estimate a similarity of `threshold` or more: id_a, id_b, distance and
        similarity. A table with itself gives each pair once, and no row with itself. The estimate of
        a cosine c errs by at most some (1 - c²)^½ · 1.6 / √bits; `pairs` compares exactly.

        >>> SimHashModel("embedding").approxSimilarityJoin(today, kept, 0.98).show()
        """
        if not 0 < threshold <= 1:
            raise ValueError(f"threshold expected a similarity above 0 and at most 1, got {threshold}")
        is_cosine = self.measure == "cosine"
        share = math.acos(threshold) / math.pi if is_cosine else (1 - threshold) / 2
        how: dict[str, Any] = {"vector" if is_cosine else "text": self.inputCol, **self._hashing}
        other, most = None if datasetB is datasetA else datasetB, math.floor(share * self.bits + 1e-9)
        found = pairs(datasetA, other, id=self.id, max_distance=most, bits=self.bits, **how)
        part = F.col("distance") / self.bits
        similarity = F.cos(part * math.pi) if is_cosine else 1 - 2 * part
        return found.withColumn("similarity", similarity)
