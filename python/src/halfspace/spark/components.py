"""The ids that chains of pairs connect."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from .stages import Checkpoint

#: Rounds of `components`; each shortens chains by half at least.
MAX_ROUNDS = 100


def components(near: DataFrame, checkpoint: Checkpoint | None = None) -> DataFrame:
    """The ids that chains of pairs id_a, id_b connect: a DataFrame of id and component, the least id of
    all that are connected. Each id of `near` has a row. Stars are merged until nothing changes
    (Kiveris et al. 2014); every round is a stage.

    >>> same = components(pairs(codes, max_distance=3))
    """
    stages = checkpoint or Checkpoint(near.sparkSession)
    greater, lesser = F.greatest("id_a", "id_b"), F.least("id_a", "id_b")
    edges = near.where("id_a <> id_b").select(greater.alias("u"), lesser.alias("v")).distinct()
    edges, before = stages.keep(edges, "edges"), None
    for number in range(MAX_ROUNDS):
        # Large star: the greater neighbours of a node to the least of all its neighbours.
        both = edges.unionByName(edges.select(F.col("v").alias("u"), F.col("u").alias("v")))
        least = both.groupBy("u").agg(F.least(F.min("v"), F.col("u")).alias("least"))
        large = both.where("v > u").join(least, "u").select(F.col("v").alias("u"), F.col("least").alias("v"))
        # Small star: a node and its lesser neighbours to the least of these.
        least = large.groupBy("u").agg(F.min("v").alias("least"))
        small = large.join(least, "u")
        small = small.select(F.explode(F.array("u", "v")).alias("u"), F.col("least").alias("v"))
        edges = stages.keep(small.where("u <> v").distinct(), f"components {number + 1}")
        now = edges.agg(F.count("*"), F.sum(F.xxhash64("u", "v").cast("decimal(38)"))).first()
        if now == before:
            break
        before = now
    roots = edges.select("v").distinct().select(F.col("v").alias("id"), F.col("v").alias("component"))
    return edges.select(F.col("u").alias("id"), F.col("v").alias("component")).unionByName(roots)
