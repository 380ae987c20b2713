"""Every pair of near rows, each once, within a table or between two."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ..command import on_file
from .cells import CELL_ROWS, Coded, Rows, between, near, pairs_of, ties
from .components import components
from .fingerprint import fingerprint, options
from .rows import Batches
from .stages import Checkpoint
from .survey import check_kind

#: How the command reads texts where it looks for near ones.
NEAR_TEXT = {"tokens": "shingles:2", "counting": "log"}
SETS = {"tokens": "shingles:2", "projection": "minwise"}


class Source:
    """What makes rows near: a column of texts, vectors or codes, and how near they must be."""

    def __init__(
        self,
        columns: dict[str, str | None],
        least: dict[str, float | None],
        hashing: dict[str, Any],
        *,
        id: str,
        within: str | None,
        bits: int,
        max_distance: int,
    ) -> None:
        given = {kind: column for kind, column in columns.items() if column is not None}
        if len(given) != 1:
            raise ValueError("give one of text, vector and code")
        [(self.kind, self.column)] = given.items()
        if self.kind == "code" and hashing:
            raise ValueError(f"code has ready codes: leave out {', '.join(hashing)}")
        self.least = {name: value for name, value in least.items() if value is not None}
        if self.least.keys() - {{"vector": "min_cosine", "text": "min_jaccard"}.get(self.kind)}:
            raise ValueError(f"min_cosine compares vectors, min_jaccard texts: give them, not {self.kind}=")
        usual = {} if self.kind != "text" else SETS if self.least else NEAR_TEXT
        self.hashing = {**usual, **hashing}
        self.id, self.within, self.bits, self.max_distance = id, within, bits, max_distance
        #: The least similarity by which keys stand behind the codes, where these are of sets of texts.
        self.keys = self.least.get("min_jaccard") if self.hashing.get("projection") == "minwise" else None

    def rows(self, frame: DataFrame, **more: Column) -> DataFrame:
        """The columns id, code, within, and those of `more`."""
        code = F.col(self.column)
        if self.kind != "code":
            code = fingerprint(code, bits=self.bits, keys=self.keys, **self.hashing)
        columns = [F.col(self.id).alias("id"), code.alias("code")]
        columns += [F.col(self.within).cast("string").alias("within")] if self.within is not None else []
        return frame.select(*columns, *(column.alias(name) for name, column in more.items()))

    def compared(self, frame: DataFrame, codes: DataFrame) -> DataFrame:
        """Rows of `codes` with what is compared exactly in place of their codes."""
        sources = frame.select(F.col(self.id).alias("id"), F.col(self.column).alias("source"))
        return codes.drop("code").join(sources, "id")

    def exact_words(self, max_distance: int | None) -> list[str]:
        """How the command reads and compares rows exactly, from a file. Without a distance it finds texts by
        their keys."""
        how = {name: value for name, value in self.hashing.items() if name in ("tokens", "normalize")}
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
    source = Source(columns, least, hashing, id=id, within=within, bits=bits, max_distance=max_distance)
    if other is not None and source.least:
        raise ValueError(f"{min(source.least)} compares the rows of one table, not of two")
    stages = checkpoint or Checkpoint(rows.sparkSession)
    stages.begin("pairs", source=vars(source), cell_rows=cell_rows)
    tables = [source.rows(frame) for frame in (rows, other) if frame is not None]
    if other is not None:
        if source.kind != "code":
            tables = [stages.keep(codes, "codes") for codes in tables]
        check_kind(tables[1], id)
        return between(tables[0], tables[1], max_distance, cell_rows, stages, id)
    coded = Coded.of(tables[0], stages, id, bits if source.keys else None)
    if not source.least:
        return near_of(coded, max_distance, cell_rows)
    grouped = components(edges(coded, max_distance, cell_rows), stages, cell_rows)
    return _exact(source.compared(rows, tables[0]).join(grouped, "id"), source)


def near_of(codes: Coded, max_distance: int, cell_rows: int) -> DataFrame:
    """All pairs of near rows, those with equal codes too."""
    found = near(codes, max_distance, cell_rows)
    if codes.members is None:
        return found.select(*_ordered("a", "b"), "distance")
    a = codes.members.select(F.col("first").alias("a"), F.col("id").alias("id_a"))
    b = codes.members.select(F.col("first").alias("b"), F.col("id").alias("id_b"))
    apart = found.join(a, "a").join(b, "b").select(*_ordered("id_a", "id_b"), "distance")
    same = a.join(b.withColumnRenamed("b", "a"), "a").where("id_a < id_b")
    return apart.unionByName(same.select("id_a", "id_b", F.lit(0).alias("distance")))


def _ordered(a: str, b: str) -> tuple[Column, Column]:
    return F.least(a, b).alias("id_a"), F.greatest(a, b).alias("id_b")


def edges(codes: Coded, max_distance: int, cell_rows: int) -> DataFrame:
    """Pairs id_a, id_b that connect the rows which all near pairs connect."""
    found = ties(codes, max_distance, cell_rows)
    if codes.members is None:
        return found
    equal = codes.members.where("first < id")
    return found.unionByName(equal.select(F.col("first").alias("id_a"), F.col("id").alias("id_b")))


def _exact(rows: DataFrame, source: Source) -> DataFrame:
    """The pairs within components that are as similar as wanted: no other pairs are near."""
    [name] = (least.removeprefix("min_") for least in source.least)
    most = pa.scalar(source.max_distance, pa.uint16())
    words = ["pairs", "-", "-q", *source.exact_words(None if source.keys else source.max_distance)]

    def compare(batches: Batches) -> Batches:
        own = Rows(batches)
        for found in on_file(words, own.sent()):
            found = found.filter(pc.less_equal(found.column("distance"), most))
            columns = [*pairs_of(own, own, found).columns, found.column(name)]
            yield pa.RecordBatch.from_arrays(columns, ["id_a", "id_b", "distance", name])

    kind = rows.schema["id"].dataType.simpleString()
    parts = rows.repartition("component").sortWithinPartitions("id")
    return parts.mapInArrow(compare, f"id_a {kind}, id_b {kind}, distance int, {name} double")
