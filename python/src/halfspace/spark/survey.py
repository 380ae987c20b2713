"""One look at rows before the work: how many they are, whether their ids are unique, about how many of
their codes differ. Where they are wanted, their codes are kept packed on the way."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from . import layout
from .arrays import matrix, one_value
from .packing import packed
from .stages import Checkpoint
from .tasks import Batches

#: Ids that the command carries as they are.
KINDS = ("string", "int", "bigint")
#: Rows of a task that are one batch when they are read again; more are divided.
MAX_TASK_ROWS = 2**24
#: The least hashes by which distinct codes are counted: their number then errs by 4 %.
SKETCH = 512
#: What is seen of a batch, see `_Seen.columns`.
SEEN = ["first", "last", "found"]


@dataclass
class Survey:
    """Of rows with values in all columns: how many they are, about how many codes they have, and the
    least and the largest width of a code in bytes; `in_task` is the most rows of a task."""

    rows: int
    codes: float
    widths: tuple[int, int]
    in_task: int


def survey(rows: DataFrame, name: str | None = None) -> Survey:
    """Looks at a column of ids in one job. With `name`, what the caller names the ids, it fails for those
    that the command does not carry, that are null, or that are there twice: where ids do not ascend, their
    hashes are counted, and the ids whose hashes are equal."""
    kind = check_kind(rows, name or "id")
    return _summary(rows, rows.mapInArrow(_surveyed, f"first {kind}, last {kind}, found binary"), name)


def survey_and_pack(
    rows: DataFrame, stages: Checkpoint, stage: str, name: str | None = None
) -> tuple[Survey, DataFrame]:
    """The same of a column of codes too, and those rows that have values in all columns packed into few
    `rows`, which are kept: the frame itself is not computed again."""
    kind = check_kind(rows, name or "id")
    schema = f"first {kind}, last {kind}, found binary, rows binary"
    kept = stages.keep(rows.mapInArrow(_packed, schema), stage)
    found = _summary(rows, kept.where("found is not null").drop("rows"), name)
    packed_rows = kept.where("rows is not null").select("rows")
    if found.in_task > MAX_TASK_ROWS:
        packed_rows = packed_rows.repartition(-(-found.rows // MAX_TASK_ROWS))
    return found, packed_rows


def _summary(rows: DataFrame, looked_at: DataFrame, name: str | None) -> Survey:
    parts = looked_at.collect()
    found = [np.frombuffer(part["found"], np.int64) for part in parts if part["found"]]
    if name:
        spans = sorted((part["first"], part["last"]) for part in parts if part["first"] is not None)
        is_sure = len(spans) == len(parts) and all(ascends for ascends, *_ in found)
        if not is_sure or any(last >= first for (_, last), (first, _) in itertools.pairwise(spans)):
            _check_unique(rows, name)
    if not found:
        return Survey(0, 0, (0, 0), 0)
    _, counts, narrowest, widest = np.array([one[:4] for one in found]).T
    least = np.unique(np.concatenate([one[4:] for one in found]).view(np.uint64))[:SKETCH]
    codes = len(least) if len(least) < SKETCH else (SKETCH - 1) * 2**64 / int(least[-1])
    used = counts > 0
    widths = (narrowest[used].min(initial=2**31), widest.max())
    return Survey(int(counts.sum()), codes, widths, int(counts.max()))


def check_kind(rows: DataFrame, name: str) -> str:
    """The type of ids; fails for one that the command does not carry."""
    kind = rows.schema["id"].dataType.simpleString()
    if kind not in KINDS:
        raise TypeError(f'"{name}" expected ids of {", ".join(KINDS)}, got {kind}: cast the column')
    return kind


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
    """What a task has seen of its rows: whether ids ascend in every batch, how many rows have all values,
    the least and the largest width of their codes, and the least hashes of these."""

    def __init__(self) -> None:
        self.rows, self.ascends, self.widths = 0, True, (2**31, 0)
        self.least = np.empty(0, np.uint64)
        #: Of each batch, since files come in any order.
        self.first: list[pa.Array] = []
        self.last: list[pa.Array] = []

    def add(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Looks at a batch; its rows with values in all columns."""
        ids = batch.column("id")
        before, after = ids.slice(0, len(ids) - 1), ids.slice(1)
        ascends = ids.null_count == 0 and pc.all(pc.less(before, after), min_count=0).as_py()
        self.ascends = self.ascends and ascends
        self.first.append(ids.slice(0, 1))
        self.last.append(ids.slice(len(ids) - 1))
        whole = batch.drop_null()
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
            self.least = np.unique(np.concatenate([self.least, few]))[:SKETCH]

    def columns(self) -> list[pa.Array]:
        """The first and the last id of each batch, and with the last batch the rest as integers."""
        values = np.array([self.ascends, self.rows, *self.widths], np.int64)
        found = one_value(np.concatenate([values, self.least.view(np.int64)]).tobytes())
        none = [one_value(b"")] * (len(self.first) - 1)
        return [pa.concat_arrays(one) for one in (self.first, self.last, [*none, found])]


def _surveyed(batches: Batches) -> Batches:
    """What is seen of the rows of a task."""
    seen = _Seen()
    for batch in batches:
        if batch.num_rows > 0:
            seen.add(batch)
    if seen.first:
        yield pa.RecordBatch.from_arrays(seen.columns(), SEEN)


def _packed(batches: Batches) -> Batches:
    """The same, and before it the rows with values in all columns."""
    seen, names = _Seen(), [*SEEN, "rows"]
    for value in packed(seen.add(batch) for batch in batches if batch.num_rows > 0):
        nulls = [pa.nulls(1, kind) for kind in (seen.first[0].type, seen.first[0].type, pa.binary())]
        yield pa.RecordBatch.from_arrays([*nulls, value.column("rows")], names)
    if seen.first:
        rows = pa.nulls(len(seen.first), pa.binary())
        yield pa.RecordBatch.from_arrays([*seen.columns(), rows], names)
