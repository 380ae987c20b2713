"""Groups of near rows, and plans of which rows to keep. Rows of different components never meet in a
group, so the command makes the plan of whole components, many in a task."""

import pyarrow as pa
from pyspark.sql import Window
from pyspark.sql import functions as F

from ..command import stream
from .fingerprint import fingerprint, options
from .pairs import CELL_ROWS, code_of, edges, kept, pairs

#: How the command reads texts where it looks for near ones.
NEAR_TEXT = {"tokens": "shingles:2", "counting": "log"}
#: Rounds of `components`; each shortens chains by half at least.
MAX_ROUNDS = 100


def components(near, a="id_a", b="id_b"):
    """The ids that chains of pairs connect: a DataFrame of id and component, the least id of all that
    are connected. Each id of `near` has a row. Stars are merged until nothing changes (Kiveris et
    al. 2014); every round is a checkpoint."""
    edges = near.select(F.col(a).alias("u"), F.col(b).alias("v")).where("u <> v")
    edges = edges.select(F.greatest("u", "v").alias("u"), F.least("u", "v").alias("v")).distinct()
    edges, before = kept(edges), None
    for _ in range(MAX_ROUNDS):
        # Large star: the greater neighbours of a node to the least of all its neighbours.
        both = edges.unionByName(edges.select(F.col("v").alias("u"), F.col("u").alias("v")))
        least = both.groupBy("u").agg(F.least(F.min("v"), F.col("u")).alias("least"))
        large = both.where("v > u").join(least, "u").select(F.col("v").alias("u"), F.col("least").alias("v"))
        # Small star: a node and its lesser neighbours to the least of these.
        least = large.groupBy("u").agg(F.min("v").alias("least"))
        small = large.join(least, "u").select(F.explode(F.array("u", "v")).alias("u"), F.col("least").alias("v"))
        edges = kept(small.where("u <> v").distinct())
        now = edges.agg(F.count("*"), F.sum(F.xxhash64("u", "v").cast("decimal(38)"))).first()
        if now == before:
            break
        before = now
    roots = edges.select("v").distinct().select(F.col("v").alias("id"), F.col("v").alias("component"))
    return edges.select(F.col("u").alias("id"), F.col("v").alias("component")).unionByName(roots)


def cluster(
    codes, max_distance, id="id", code="code", min_cluster_size=5, min_samples=5, cell_rows=CELL_ROWS
):
    """Clusters of rows that are joined by steps of at most `max_distance` bits over rows with
    `min_samples` others within it: a DataFrame of id and cluster, -1 for rows in none. They are those
    of `halfspace cluster --density --max-distance` for the same rows in the order of their ids.
    With `min_samples` above 1, dense groups make pairs without end."""
    if min_samples == 1:
        near = edges(codes, max_distance, id, code, cell_rows)
    else:
        near = kept(pairs(codes, max_distance, id, code, cell_rows))
        ends = near.select(F.explode(F.array("id_a", "id_b")).alias("id")).groupBy("id").count()
        dense = kept(ends.where(F.col("count") >= min_samples).select("id"))
        for end in ("id_a", "id_b"):
            near = near.join(dense.select(F.col("id").alias(end)), end, "left_semi")
    joined = components(near)
    large = joined.groupBy("component").count().where(F.col("count") >= min_cluster_size)
    # By their first rows, as the command numbers them.
    number = F.row_number().over(Window.orderBy("component")) - 1
    joined = joined.join(large.select("component", number.alias("cluster")), "component")
    every = codes.select(F.col(id).alias("id")).join(joined.select("id", "cluster"), "id", "left")
    return every.select("id", F.coalesce("cluster", F.lit(-1)).alias("cluster"))


def dedup(
    rows,
    id="id",
    text=None,
    vector=None,
    code=None,
    *,
    max_distance,
    keep="first",
    grouping="star",
    bits=64,
    cell_rows=CELL_ROWS,
    **hashing,
):
    """The plan of which rows to keep: a DataFrame of id, group (its least id), action (keep or drop),
    duplicate_of and distance. It is the plan that `halfspace dedup` makes of the same rows in the
    order of their ids. `keep`: first, last (by id), longest (text), lowest:COLUMN, or highest:COLUMN;
    `grouping`: star or components. Nothing is dropped."""
    source = [one for one in (text, vector, code) if one is not None]
    if len(source) != 1:
        raise ValueError("give one of text, vector and code")
    if "target_rows" in hashing:
        raise ValueError("target_rows is for `halfspace dedup`: on Spark no task knows all groups")
    if code is not None and hashing:
        raise ValueError(f"code has ready codes: leave out {', '.join(hashing)}")
    if text is not None:
        hashing = {**NEAR_TEXT, **hashing}
    made = F.col(code) if code else fingerprint(source[0], bits=bits, **hashing)
    rule, value = _rule(keep, text)
    codes = kept(rows.select(F.col(id).alias("id"), made.alias("code"), value.alias("value")))
    grouped = codes.join(components(edges(codes, max_distance, cell_rows=cell_rows)), "id")
    words = ["dedup", "-", "-q", *code_of(codes)]
    words += options(max_distance=max_distance, grouping=grouping, keep=rule)
    plan = _planned(grouped, words)
    single = codes.select("id").join(plan.select("id"), "id", "left_anti")
    alone = [F.col("id"), F.col("id"), F.lit("keep"), F.col("id"), F.lit(0)]
    return plan.unionByName(single.select(*(c.alias(n) for c, n in zip(alone, PLAN))))


PLAN = ["id", "group", "action", "duplicate_of", "distance"]


def _rule(keep, text):
    """The rule of the command and the values that it goes by."""
    kind, _, column = keep.partition(":")
    if kind == "longest":
        # In UTF-16, as the command counts.
        units = F.octet_length(F.encode(F.col(column or text), "UTF-16LE")) / 2
        return "highest:value", units.cast("long")
    if kind in ("lowest", "highest"):
        return f"{kind}:value", F.col(column)
    if kind in ("first", "last") and not column:
        return kind, F.lit(None).cast("long")
    raise ValueError(
        "keep expected first, last, longest, longest:COLUMN, lowest:COLUMN or highest:COLUMN, "
        f'got "{keep}"'
    )


def _planned(grouped, words):
    """The plan of rows with their components, which are whole in a task."""

    def plan(batches):
        ids = []

        def seen():
            for batch in batches:
                ids.append(batch.column("id"))
                yield batch.select(["id", "code", "value"])

        for found in stream(words, seen()):
            known = pa.chunked_array(ids)
            named = [known.take(found.column(name)) for name in ("group", "duplicate_of")]
            distance = found.column("distance").cast(pa.int32())
            columns = [found.column("id"), named[0], found.column("action"), named[1], distance]
            table = pa.Table.from_arrays(columns, PLAN).combine_chunks()
            yield from table.to_batches()

    name = grouped.schema["id"].dataType.simpleString()
    parts = grouped.repartition("component").sortWithinPartitions("id")
    schema = f"id {name}, `group` {name}, action string, duplicate_of {name}, distance int"
    return parts.mapInArrow(plan, schema)
