"""One look at rows before the work: how many they are, whether their ids are unique, about how many of
their codes differ. Where they are wanted, their codes are kept packed on the way."""

from __future__ import annotations

import itertools
import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from . import layout
from .rows import Batches, blobs, matrix, one_value, packed
from .stages import Checkpoint

#: Ids that the command carries as they are.
KINDS = ("string", "int", "bigint")
#: The least hashes by which distinct codes are counted: their number then errs by 4 %.
SKETCH = 512
#: What a task gives: rows, or what it has seen of them.
LOOKED_AT = "seen binary, rows binary"


@dataclass
class Survey:
    """Of rows with values in all columns: how many they are, about how many codes they have, and the
    least and the largest width of a code in bytes."""

    rows: int = 0
    codes: float = 0
    widths: tuple[int, int] = (0, 0)


def survey(
    rows: DataFrame, name: str | None, stages: Checkpoint | None = None, stage: str = ""
) -> tuple[Survey, DataFrame]:
    """Looks at a column of ids, which the caller names `name`, in one job. Fails for those that the
    command does not carry, that are null, or that are there twice: where ids do not ascend, their
    hashes are counted, and the ids whose hashes are equal. Without `name` ids are not checked.
    With `stages` it looks at a column of codes too, and keeps those rows that have values in all columns
    packed into few `rows`: the frame itself is not computed again."""
    check_kind(rows, name or "id")
    looked_at = rows.mapInArrow(_look(is_packed=stages is not None), LOOKED_AT)
    if stages is not None:
        looked_at = stages.keep(looked_at, stage)
    return _summary(rows, looked_at, name), looked_at.where("rows is not null").select("rows")


def _summary(rows: DataFrame, looked_at: DataFrame, name: str | None) -> Survey:
    parts = [*map(json.loads, blobs(looked_at.where("seen is not null").select("seen")))]
    if name:
        spans = sorted(span for part in parts for span in part["spans"])
        is_sure = all(part["ascends"] for part in parts)
        if not is_sure or any(last >= first for (_, last), (first, _) in itertools.pairwise(spans)):
            _check_unique(rows, name)
    used = [part for part in parts if part["rows"] > 0]
    if not used:
        return Survey()
    least = np.unique(np.concatenate([np.array(part["least"], np.uint64) for part in used]))[:SKETCH]
    codes = len(least) if len(least) < SKETCH else (SKETCH - 1) * 2**64 / int(least[-1])
    narrowest, widest = zip(*(part["widths"] for part in used), strict=True)
    return Survey(sum(part["rows"] for part in used), codes, (min(narrowest), max(widest)))


def check_kind(rows: DataFrame, name: str) -> None:
    """Fails for ids of a type that the command does not carry."""
    kind = rows.schema["id"].dataType.simpleString()
    if kind not in KINDS:
        raise TypeError(f'"{name}" expected ids of {", ".join(KINDS)}, got {kind}: cast the column')


def _check_unique(rows: DataFrame, name: str) -> None:
    hashed = rows.select("id", F.xxhash64("id").alias("hash"))
    counts = [F.count("*").alias("count"), F.max(F.isnull("id")).alias("has_null")]
    wrong = hashed.groupBy("hash").agg(*counts).where("count > 1 or has_null").select("hash")
    found = wrong.limit(1000).collect()
    if not found:
        return
    some = hashed.where(F.col("hash").isin([row["hash"] for row in found]))
    worst = some.groupBy("id").count().where("count > 1 or id is null").orderBy("id").first()
    if worst is not None and worst["id"] is None:
        raise ValueError(f'"{name}" has a null: each row needs an id')
    if worst is not None:
        raise ValueError(f'"{name}" has the id {worst["id"]!r} {worst["count"]} times: ids must be unique')


class _Seen:
    """What a task has seen of its rows: how many have all values, the least and the largest width of
    their codes and the least hashes of these, whether ids ascend in every batch, and the spans of these: not
    merged, since batches are of files, which come in any order, and a span with gaps would hide others."""

    def __init__(self) -> None:
        self.rows, self.ascends, self.widths = 0, True, (2**31, 0)
        self.least = np.empty(0, np.uint64)
        self.spans: list[list[Any]] = []

    def add(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Looks at a batch; its rows with values in all columns."""
        ids, whole = batch.column("id"), batch.drop_null()
        before, after = ids.slice(0, max(0, len(ids) - 1)), ids.slice(1)
        if ids.null_count > 0 or not pc.all(pc.less(before, after), min_count=0).as_py():
            self.ascends = False
        elif len(ids) > 0:
            self.spans.append([ids[0].as_py(), ids[-1].as_py()])
        self.rows += whole.num_rows
        if "code" in whole.schema.names and whole.num_rows > 0:
            self._add_codes(whole.column("code"))
        return whole

    def _add_codes(self, codes: pa.Array) -> None:
        is_long = pa.types.is_int64(codes.type)
        narrow, wide = (8, 8) if is_long else pc.min_max(pc.binary_length(codes)).as_py().values()
        self.widths = min(self.widths[0], narrow), max(self.widths[1], wide)
        if self.widths[0] == self.widths[1]:
            found = layout.hashes_of(matrix(codes))
            few = found[found < self.least[-1]] if len(self.least) == SKETCH else found
            every = np.sort(np.concatenate([self.least, few]))  # np.unique imports numpy.ma
            self.least = every[np.diff(every, prepend=~every[:1]) != 0][:SKETCH]

    def said(self) -> pa.Array:
        """All that as one value."""
        return one_value(json.dumps({**vars(self), "least": self.least.tolist()}).encode())


def _look(is_packed: bool) -> Callable[[Batches], Batches]:
    """Gives what a task has seen of its rows, and before it those with values in all columns packed."""

    def look(batches: Batches) -> Batches:
        seen, none = _Seen(), pa.nulls(1, pa.binary())
        whole = map(seen.add, batches)
        for value in packed(whole) if is_packed else ():
            yield pa.RecordBatch.from_arrays([none, value.column("rows")], ["seen", "rows"])
        deque(whole, 0)  # where nothing packs them
        yield pa.RecordBatch.from_arrays([seen.said(), none], ["seen", "rows"])

    return look
