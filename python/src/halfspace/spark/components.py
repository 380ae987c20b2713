"""The ids that chains of pairs connect."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from .cells import CELL_ROWS
from .keys import connect
from .rows import Batches, array, numbers, pieces
from .stages import Checkpoint


def components(
    near: DataFrame, checkpoint: Checkpoint | None = None, task_pairs: int = CELL_ROWS
) -> DataFrame:
    """The ids that chains of pairs id_a, id_b connect: a DataFrame of id and component, the least id of
    all that are connected. Each id of `near` has a row. One task connects up to `task_pairs` pairs. Of
    more, tasks connect those of each id that come from it by a random order of ids, and the least ids
    that they find for one id are the pairs of the next round: two thirds of a chain's.

    >>> same = components(pairs(codes, max_distance=3))
    """
    stages = checkpoint or Checkpoint(near.sparkSession)
    kind = near.schema["id_a"].dataType.simpleString()
    rounds: list[DataFrame] = []

    def connected(batches: Batches) -> Batches:
        for piece in pieces(batches, task_pairs):
            yield from _connected(pa.Table.from_batches(piece))

    left = stages.keep(near.where("id_a <> id_b").select("id_a", "id_b"), "edges")
    while left.count() > task_pairs:
        # Another order in each round: in that of ids a chain would not shrink.
        drawn = [F.xxhash64(name, F.lit(len(rounds))) for name in ("id_a", "id_b")]
        parts = left.repartition(F.greatest(*drawn)).mapInArrow(connected, f"id {kind}, least {kind}")
        parts = stages.keep(parts, f"components {len(rounds) + 1}")
        own = parts.groupBy("id").agg(F.min("least").alias("id_a"))
        pairs = parts.join(own, "id").where("id_a <> least").select("id_a", F.col("least").alias("id_b"))
        left = stages.keep(pairs.distinct(), "edges")
        rounds.append(own)
    found = left.coalesce(1).mapInArrow(connected, f"id {kind}, least {kind}")
    for own in reversed(rounds):
        of_least = found.withColumnRenamed("id", "id_a")
        found = own.join(of_least, "id_a", "left").select("id", F.coalesce("least", "id_a").alias("least"))
    return stages.keep(found.withColumnRenamed("least", "component"), "components")


def _connected(pairs: pa.Table) -> Batches:
    """The ids of pairs with the least that each is connected to."""
    ids = pc.unique(pa.chunked_array([*pairs.column(0).chunks, *pairs.column(1).chunks]))
    ids = ids.take(pc.sort_indices(ids))
    a, b = (numbers(pc.index_in(column, ids).combine_chunks()) for column in pairs.columns)
    least = np.arange(len(ids))
    connect(least, a, b)
    yield pa.RecordBatch.from_arrays([ids, ids.take(array(least))], ["id", "least"])
