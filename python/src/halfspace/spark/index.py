"""An index in one folder, whose segments tasks write and search, and the nearest rows over all of them.

A task puts its files into the folder under names of their own and hands over the manifest of its part. For
a recall it also answers evaluation queries by its rows. The manifests are merged, with what the queries
found everywhere, and the one of the folder is written last: before, there is no index. Then the answers
are deleted, and what tasks left that were tried again.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import tempfile
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from ..command import run, stream, write_rows
from .codes import KINDS, check_ids, check_kind, options
from .storage import Storage, served
from .travel import Batches, blobs, one_row, opened, packed, runs, to_tasks

#: Rows that a task writes, as a segment.
SEGMENT_ROWS = 2_000_000
#: What a task holds of its rows.
MEMORY = "1GB"
#: The first generation's manifest, and the name of a copy of the newest one's.
MANIFEST, COPY = "manifest-000001.json", "manifest.json"
#: Files that tasks write: those of a first generation.
OF_TASKS = re.compile(r"[a-z]+-000001-\d+-[0-9a-f]{12}\.arrow")
#: Fewer rows are all looked at; `halfspace index --optimize` makes so many partitions of others, and
#: trains each with so many rows.
MIN_ROWS, PER_ROOT, MOST_PARTITIONS, SAMPLE = 4096, 3.5, 8192, 40
#: One vector of so many trains nothing; about so many of these are evaluation queries.
HELD_OUT, QUERIES = 32, 1500
#: What a part answers to them, as the command calls it.
ANSWERS = "evaluated.arrow"
#: Parts whose answers a task reads: 45 MB each.
TOGETHER = 24


def build_index(
    rows: DataFrame,
    path: str,
    *,
    id: str = "id",
    vector: str,
    segments: int | None = None,
    recall: float | None = None,
    **hashing: Any,
) -> None:
    """Makes an index folder at a path of Spark's: the command opens it as any other.
    `recall=0.95` trains centroids on a sample and finds that share of the true neighbours. Further
    options are those of `halfspace index`: vectors, bits.

    >>> build_index(rows, "s3a://bucket/docs.hs", vector="embedding", vectors="float32", recall=0.95)
    """
    storage = Storage(rows.sparkSession, path)
    if _newest(storage):
        raise FileExistsError(f"{path} holds an index")
    chosen = rows.select(F.col(id).alias("id"), F.col(vector).alias("source"))
    check_ids(chosen, id)
    total = chosen.count()
    if total == 0:
        raise ValueError("there are no rows to index")
    words = ["index", "-", "-q", "--id", "id", "--vector", "source", *options(**hashing)]
    model, queries = b"", list[bytes]()
    optimize = options(optimize=True, recall=recall)
    if recall is not None and total >= MIN_ROWS:
        is_held = F.pmod(F.xxhash64("source"), F.lit(HELD_OUT)) == 0
        queries = _queries(chosen.where(is_held & F.col("source").isNotNull()), total)
        if queries:
            model = _trained(storage, chosen.where(~is_held), total, [*words, *optimize])
    tasks = segments or -(-total // SEGMENT_ROWS)
    parted = chosen.withColumn("key", F.col("id")).withColumn("task", F.pmod(F.hash("id"), F.lit(tasks)))
    counts = {row[0]: row[1] for row in parted.groupBy("task").count().collect()}
    starts = [0, *accumulate(counts.get(i, 0) for i in range(tasks))]

    def build(batches: Batches) -> Batches:
        for number, own in runs(batches, "task"):
            with tempfile.TemporaryDirectory() as folder:
                where = ["--memory", MEMORY, "--first-row", str(starts[number])]
                if queries:
                    like = _folder(f"{folder}/like.hs", model, storage, *_files(json.loads(model)))
                    where += ["--like", like, *_asked(folder, queries)]
                chosen = (one.select(["id", "source"]) for one in own)
                made, manifest = _indexed(chosen, [*words, *where], folder)
                for name in {*os.listdir(made)}.difference((MANIFEST, COPY)):
                    storage.put(f"{made}/{name}", _answers_of(manifest) if name == ANSWERS else name)
            yield one_row(manifest=manifest)

    # In the order of ids: rows that tie in a segment then come by id, as `nearest` orders them.
    parts = to_tasks(parted, tasks, "task", "id")
    first_row = lambda manifest: int(json.loads(manifest)["segments"][0]["firstRow"])
    made = sorted(blobs(parts.mapInArrow(build, "manifest binary")), key=first_row)
    while queries and len(made) > TOGETHER:
        groups = [made[i : i + TOGETHER] for i in range(0, len(made), TOGETHER)]
        merge = lambda number, groups=groups: [_merged(groups[number], storage, [], queries)]
        made = storage.in_tasks(len(groups), merge)
    storage.in_tasks(1, lambda _: [_merged(made, storage, optimize, queries)])


def _indexed(rows: Batches, words: list[str], folder: str) -> tuple[str, bytes]:
    """The path of a new index of rows in a folder, and its manifest."""
    made = f"{folder}/part.hs"
    for _ in stream([*words, "-o", made], rows):
        pass
    return made, Path(made, MANIFEST).read_bytes()


def _trained(storage: Storage, chosen: DataFrame, total: int, words: list[str]) -> bytes:
    """The manifest of an index of a sample, of which the folder gets the files without rows: its centroids
    are for all rows."""
    wanted = PER_ROOT * math.sqrt(total)
    partitions = min(MOST_PARTITIONS, 2 ** round(math.log2(wanted)))
    share: float = min(1.0, 1.5 * max(SAMPLE * partitions, 2**14) / total)
    words = [*words, "--partitions", str(partitions)]

    def train(batches: Batches) -> Batches:
        with tempfile.TemporaryDirectory() as folder:
            made, manifest = _indexed(batches, words, folder)
            for name in _files(json.loads(manifest)):
                storage.put(f"{made}/{name}", name)
            yield one_row(manifest=manifest)

    # In the order of ids: however rows come from the shuffle, they train the same centroids.
    sample = chosen.sample(fraction=share, seed=0).repartition(1).sortWithinPartitions("id")
    [manifest] = blobs(sample.mapInArrow(train, "manifest binary"))
    return manifest


def _folder(path: str, manifest: bytes, storage: Storage, *files: str) -> str:
    """A new folder with a manifest and some files of an index."""
    os.mkdir(path)
    Path(path, f"manifest-{json.loads(manifest)['generation']:06}.json").write_bytes(manifest)
    for name in files:
        storage.bring(name, f"{path}/{name}")
    return path


def _merged(parts: list[bytes], storage: Storage, words: list[str], queries: list[bytes]) -> bytes:
    """The manifest of parts, which follow one another. With `words` of --optimize it has the recall
    that their answers to the queries show, and is the folder's; else their answers become one file."""
    with tempfile.TemporaryDirectory() as folder:
        output, measure = f"{folder}/all.hs", []
        paths = [_folder(f"{folder}/{i}.hs", part, storage) for i, part in enumerate(parts)]
        os.mkdir(output)
        if queries:
            for path, part in zip(paths, parts, strict=True):
                storage.bring(_answers_of(part), f"{path}/{ANSWERS}")
            for name in _files(json.loads(parts[0])):
                storage.bring(name, f"{output}/{name}")
            measure = [*words, *_asked(folder, queries), "--id", "id", "--vector", "source"]
        run("index", *paths, "--merge", "--manifests-only", *measure, "-q", "-o", output)
        manifest = Path(output, MANIFEST).read_bytes()
        if words:
            _publish(storage, output, json.loads(manifest))
        else:
            storage.put(f"{output}/{ANSWERS}", _answers_of(manifest))
    return manifest


def _answers_of(manifest: bytes) -> str:
    """The name of the file of what the rows of a part answer."""
    return f"evaluated-000001-0-{hashlib.sha256(manifest).hexdigest()[:12]}.arrow"


def _asked(folder: str, queries: list[bytes]) -> list[str]:
    return ["--evaluate", str(write_rows(folder, opened(queries)))]


def _queries(held: DataFrame, total: int) -> list[bytes]:
    """Evaluation queries, each vector once, packed; empty without any."""
    sample = held.sample(fraction=min(1.0, QUERIES * HELD_OUT / total), seed=1)
    # In the order of ids: however rows come from the shuffle, they measure the same.
    each = sample.groupBy("source").agg(F.min("id").alias("id")).select("id", "source")
    return blobs(each.repartition(1).sortWithinPartitions("id").mapInArrow(packed, "rows binary"))


def _newest(storage: Storage) -> list[bytes]:
    """The manifest of the newest generation, if there is one."""
    return storage.in_tasks(1, lambda _: [storage.read(COPY)] if COPY in storage.names() else [])


def _publish(storage: Storage, made: str, index: dict[str, Any]) -> None:
    """Writes the manifest of a folder, and deletes files of first generations that it does not name."""
    there = storage.names()
    if MANIFEST in there:
        raise FileExistsError(f"{storage.path} holds an index, which was made meanwhile")
    named = {file["name"] for part in (index, *index["segments"]) for file in part["files"].values()}
    for name in (MANIFEST, COPY):
        storage.publish(f"{made}/{name}", name)
    for name in there:
        if OF_TASKS.fullmatch(name) and name not in named:
            storage.delete(name)


def nearest(
    spark: SparkSession,
    path: str,
    queries: DataFrame,
    *,
    k: int = 10,
    id: str = "id",
    vector: str,
    by_distance: bool = False,
) -> DataFrame:
    """The k nearest rows of an index to each query: a DataFrame of query, rank, id, distance, cosine (exact)
    and estimatedCosine, one of which is null, ordered by cosine, then id. Ids of queries are of the type of
    the index's. The queries are broadcast; a task searches a segment, of which it reads what they visit.

    >>> near = nearest(spark, "s3a://bucket/docs.hs", queries, k=10, vector="embedding")
    """
    if k < 1:
        raise ValueError(f"k expected an integer from 1 on, got {k}")
    storage = Storage(spark, path)
    newest = _newest(storage)
    if not newest:
        raise FileNotFoundError(f"{path} holds no index")
    [manifest] = newest
    index = json.loads(manifest)
    words = ["-", "-q", "--id", "id", "--vector", "source", *options(k=k, by_distance=by_distance)]

    def search(batches: Batches) -> Batches:
        for segment, asked in runs(batches, "segment"):
            where = ["--memory", MEMORY, "--segment", str(segment)]
            files = [*_files(index, index["segments"][segment])]
            with tempfile.TemporaryDirectory() as folder, served(storage, manifest) as at:
                own = _folder(f"{folder}/own.hs", manifest, storage, *([] if at else files))
                for found in stream(["search", own, *words, *where, *at], asked):
                    yield _shaped(found, [KINDS[one] for one in kinds])

    asked = queries.select(F.col(id).alias("id"), F.col(vector).alias("source"))
    kinds = check_kind(asked, id), "string" if index["index"]["ids"] == "string" else "bigint"
    schema = "query {}, id {}, distance int, cosine double, estimatedCosine double".format(*kinds)
    segments = len(index["segments"])
    each = spark.range(0, segments, 1, segments).withColumnRenamed("id", "segment")
    found = each.crossJoin(F.broadcast(asked)).mapInArrow(search, schema)
    similarity = F.coalesce("cosine", "estimatedCosine")
    # The order in which each task gave its k: by distance only where that is all that there is.
    order = [similarity.desc(), F.when(similarity.isNull(), F.col("distance")), F.col("id")]
    best = Window.partitionBy("query").orderBy(*order)
    ranked = found.withColumn("rank", F.row_number().over(best)).where(F.col("rank") <= k)
    return ranked.select("query", "rank", "id", "distance", "cosine", "estimatedCosine")


def _shaped(found: pa.RecordBatch, of_ids: list[pa.DataType]) -> pa.RecordBatch:
    """Answers with all columns, and ids of queries and of rows of these types."""
    names = ["query", "id", "distance", "cosine", "estimatedCosine"]
    there = {one: found.column(one) for one in found.schema.names}
    columns = (there.get(one, pa.nulls(len(found))) for one in names)
    kinds = (*of_ids, pa.int32(), pa.float64(), pa.float64())
    made = [one.cast(kind) for one, kind in zip(columns, kinds, strict=True)]
    return pa.RecordBatch.from_arrays(made, names)


def _files(*parts: dict[str, Any]) -> Iterator[str]:
    """Names of the files that a search reads of an index and of segments."""
    for part in parts:
        files = part["files"].items()
        yield from (file["name"] for kind, file in files if kind not in ("hashes", "columns"))
