"""Every pair of near rows, each once, within a table or between two."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ..command import on_file
from .cells import CELL_ROWS, Rows, between, components, near, pairs_of, ties
from .codes import Coded, check_kind, fingerprint, options
from .stages import Checkpoint
from .travel import Batches, kind_of

#: How the command reads texts where it looks for near ones.
NEAR_TEXT = {"tokens": "shingles:2", "counting": "log"}
SETS = {"tokens": "shingles:2", "projection": "minwise"}


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
        return fingerprint(rows, "source", bits=self.bits, keys=self.keys, **self.hashing)

    def words(self, max_distance: int | None) -> list[str]:
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
        return between(Coded.of(codes, stages, id, ids=ids), there, max_distance, cell_rows)
    own = bits if source.keys else None
    coded = Coded.of(codes, stages, id, own, is_tied=bool(source.least), ids=ids)
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
