"""An index in one folder, whose segments tasks write and search, and the nearest rows over all of them.

Rows with equal codes are in one segment. A task puts its files into the folder under names of their
own and hands over the manifest of its part. The manifests are merged, with a recall in a task that
measures searches of all rows, and the driver writes the one of the folder last: before, there is no
index. It then deletes what tasks left that were tried again.
"""

from __future__ import annotations

import json
import math
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import fs
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from ..command import run, stream
from .fingerprint import fingerprint, options
from .tasks import Batches, blobs, check_ids, key_of, runs, to_tasks

#: Rows that a task writes, as a segment.
SEGMENT_ROWS = 2_000_000
#: What a task holds of its rows.
MEMORY = "1GB"
MANIFEST = "manifest-000001.json"
#: Files that tasks write: those of a first generation.
OF_TASKS = re.compile(r"[a-z]+-000001-\d+-[0-9a-f]{12}\.arrow")
#: Fewer rows are all looked at; `halfspace index --optimize` makes so many partitions of others, and
#: trains each with so many rows.
MIN_ROWS, PER_ROOT, MOST_PARTITIONS, SAMPLE = 4096, 3.5, 8192, 40


def build_index(
    rows: DataFrame,
    path: str,
    *,
    id: str = "id",
    vector: str | None = None,
    text: str | None = None,
    segments: int | None = None,
    recall: float | None = None,
    together: bool = True,
    **hashing: Any,
) -> None:
    """Makes an index folder at a path or an URI that pyarrow knows: the command opens it as any other.
    `recall=0.95`, for vectors, trains centroids on a sample and finds that share of the true neighbours:
    one task measures all rows, with a copy of the index on its disk. `together=False` needs no copy: each
    task measures its own rows. Further options are those of `halfspace index`: vectors, bits, tokens.

    >>> build_index(rows, "s3a://bucket/docs.hs", vector="embedding", vectors="float32", recall=0.95)
    """
    if (vector is None) == (text is None):
        raise ValueError("give one of vector and text")
    if text is not None and recall is not None:
        raise ValueError("recall is for vectors: searches of texts look at all rows, and miss none")
    kind, column = ("vector", vector or "") if text is None else ("text", text)
    path = _uri(path)
    storage, root = fs.FileSystem.from_uri(path)
    if _manifests(storage, root):
        raise FileExistsError(f"{path} holds an index")
    chosen = rows.select(F.col(id).alias("id"), F.col(column).alias("source"))
    total = chosen.count()
    if total == 0:
        raise ValueError("there are no rows to index")
    check_ids(chosen, id)
    words = ["index", "-", "-q", "--id", "id", f"--{kind}", "source", *options(**hashing)]
    model: dict[str, bytes] = {}
    optimize = options(optimize=True, recall=recall)
    if recall is not None and total >= MIN_ROWS:
        model = _trained(chosen, total, [*words, *optimize])
        words += [] if together else optimize
    tasks = segments or -(-total // SEGMENT_ROWS)
    codes = {name: value for name, value in hashing.items() if name != "vectors"}
    # Rows with equal codes meet; those without a code go anywhere.
    code = fingerprint("source", **codes)
    key = F.coalesce(code, F.col("id").cast("string").cast("binary"))
    parted = chosen.withColumn("key", key)
    parted = parted.withColumn("task", F.pmod(F.hash("key"), F.lit(tasks)))
    counts = {row[0]: row[1] for row in parted.groupBy("task").count().collect()}
    starts = [0, *accumulate(counts.get(i, 0) for i in range(tasks))]

    def build(batches: Batches) -> Batches:
        for number, own in runs(batches, "task"):
            with tempfile.TemporaryDirectory() as folder:
                made = f"{folder}/part.hs"
                where = ["-o", made, "--memory", MEMORY, "--first-row", str(starts[number])]
                if model:
                    where += ["--like", _written(f"{folder}/like.hs", model)]
                chosen = (one.select(["id", "source"]) for one in own)
                for _ in stream([*words, *where], chosen, has_output=False):
                    pass
                manifest = Path(made, MANIFEST).read_bytes()
                for name in (MANIFEST, "manifest.json"):
                    os.remove(f"{made}/{name}")
                target, root = fs.FileSystem.from_uri(path)
                target.create_dir(root, recursive=True)
                fs.copy_files(made, root, destination_filesystem=target)
            yield pa.RecordBatch.from_pylist([{"manifest": manifest}])

    # In the order of ids: rows that tie in a segment then come by id, as `nearest` orders them.
    parts = to_tasks(parted, tasks, "task", "id")
    made = blobs(parts.mapInArrow(build, "manifest binary"))

    def measure(_: Batches) -> Batches:
        storage, root = fs.FileSystem.from_uri(path)
        words = [*optimize, "--memory", MEMORY]
        yield pa.RecordBatch.from_pylist([{"manifest": _merged(made, words, model, storage, root)}])

    if model and together:
        one = rows.sparkSession.range(0, 1, 1, 1).mapInArrow(measure, "manifest binary")
        [merged] = blobs(one)
    else:
        merged = _merged(made)
    _publish(storage, root, merged)


def _uri(path: str) -> str:
    """A path as pyarrow takes it: names of Hadoop's file systems, and relative paths, as Spark knows them."""
    kind, colon, rest = path.partition(":")
    if not colon:
        return os.path.abspath(path)
    local = rest.lstrip("/")
    return {"s3a": f"s3:{rest}", "file": f"/{local}", "dbfs": f"/dbfs/{local}"}.get(kind, path)


def _trained(chosen: DataFrame, total: int, words: list[str]) -> dict[str, bytes]:
    """The files of an index of a sample whose centroids are for all rows, by their names."""
    wanted = PER_ROOT * math.sqrt(total)
    partitions = min(MOST_PARTITIONS, 2 ** round(math.log2(wanted)))
    share: float = min(1.0, 1.5 * max(SAMPLE * partitions, 2**14) / total)

    def train(batches: Batches) -> Batches:
        with tempfile.TemporaryDirectory() as folder:
            made = f"{folder}/like.hs"
            where = ["--partitions", str(partitions), "-o", made]
            for _ in stream([*words, *where], batches, has_output=False):
                pass
            manifest = Path(made, MANIFEST).read_bytes()
            for name in (MANIFEST, *_files(json.loads(manifest), [])):
                data = Path(made, name).read_bytes()
                yield pa.RecordBatch.from_pylist([{"name": name, "bytes": data}])

    # In the order of ids: however rows come from the shuffle, they train the same centroids.
    sample = chosen.sample(fraction=share, seed=0).repartition(1).sortWithinPartitions("id")
    found = sample.mapInArrow(train, "name string, bytes binary").collect()
    return {one["name"]: bytes(one["bytes"]) for one in found}


def _written(folder: str, files: dict[str, bytes]) -> str:
    os.mkdir(folder)
    for name, data in files.items():
        Path(folder, name).write_bytes(data)
    return folder


def _merged(
    manifests: list[bytes],
    words: Iterable[str] = (),
    model: dict[str, bytes] | None = None,
    storage: Any = None,
    root: str = "",
) -> bytes:
    """The manifest over those of parts. With a model all rows are measured, by the files at `root`."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [_written(f"{folder}/{i}.hs", {MANIFEST: one}) for i, one in enumerate(manifests)]
        made = _written(f"{folder}/all.hs", {})
        if model:
            for one in manifests:
                _brought(made, _files(json.loads(one)), storage, root)
        run("index", *paths, "--merge", "--manifests-only", *words, "-q", "-o", made)
        return Path(made, MANIFEST).read_bytes()


def _brought(folder: str, names: Iterable[str], storage: Any, root: str) -> None:
    """Files of an index in a folder of this machine: copies, or links to files of a local disk."""
    for name in names:
        if isinstance(storage, fs.LocalFileSystem):
            os.symlink(f"{root}/{name}", f"{folder}/{name}")
        elif not os.path.exists(f"{folder}/{name}"):
            fs.copy_files(f"{root}/{name}", f"{folder}/{name}", source_filesystem=storage)


def _publish(storage: Any, root: str, merged: bytes) -> None:
    """Writes the manifest of a folder, and deletes files of first generations that it does not name."""
    there = [one.base_name for one in storage.get_file_info(fs.FileSelector(root))]
    if _manifests(storage, root):
        raise FileExistsError(f"{root} holds an index, which was made meanwhile")
    index = json.loads(merged)
    named = {file["name"] for part in (index, *index["segments"]) for file in part["files"].values()}
    missing = named.difference(there)
    if missing:
        raise FileNotFoundError(f"{root} lacks {min(missing)}, which a task wrote: was it deleted?")
    for name in (MANIFEST, "manifest.json"):
        with storage.open_output_stream(f"{root}/{name}.tmp") as out:
            out.write(merged)
        storage.move(f"{root}/{name}.tmp", f"{root}/{name}")
    for name in there:
        if OF_TASKS.fullmatch(name) and name not in named:
            storage.delete_file(f"{root}/{name}")


def _manifests(storage: Any, root: str) -> dict[int, str]:
    """The manifests in a folder, by their generations."""
    listed = storage.get_file_info(fs.FileSelector(root, allow_not_found=True))
    found = [re.fullmatch(r"manifest-(\d{6,})\.json", one.base_name) for one in listed]
    return {int(one[1]): one[0] for one in found if one}


def nearest(
    spark: SparkSession,
    path: str,
    queries: DataFrame,
    *,
    k: int = 10,
    id: str = "id",
    vector: str | None = None,
    text: str | None = None,
    rank: str | None = None,
) -> DataFrame:
    """The k nearest rows of an index to each query: a DataFrame of query, rank, id, distance, cosine (exact)
    and estimatedCosine, one of which is null, ordered by cosine, then id. Ids of queries are of the type of
    the index's; `vector` or `text` names their column where there is more than one next to the ids. Every
    segment is searched by one task, with all queries.

    >>> near = nearest(spark, "s3a://bucket/docs.hs", queries, k=10, vector="embedding")
    """
    others = [one for one in (vector, text) if one] or [one for one in queries.columns if one != id]
    if len(others) != 1:
        raise ValueError(f"give one of vector and text: the queries have {', '.join(others)}")
    path = _uri(path)
    storage, root = fs.FileSystem.from_uri(path)
    there = _manifests(storage, root)
    if not there:
        raise FileNotFoundError(f"{path} holds no index")
    newest = there[max(there)]
    with storage.open_input_stream(f"{root}/{newest}") as file:
        manifest = file.read()
    index = json.loads(manifest)
    segments = len(index["segments"])
    kind = "vector" if index["text"] is None else "text"
    words = ["-", "-q", "--id", "id", f"--{kind}", "source", *options(k=k, rank=rank)]

    def search(batches: Batches) -> Batches:
        for segment, asked in runs(batches, "task"):
            source, root = fs.FileSystem.from_uri(path)
            own = (one.select(["id", "source"]) for one in asked)
            with tempfile.TemporaryDirectory() as folder:
                local = _written(f"{folder}/index.hs", {newest: manifest})
                _brought(local, _files(index, [segment]), source, root)
                where = ["--memory", MEMORY, "--segments", f"{segment}-{segment}"]
                for found in stream(["search", local, *words, *where], own):
                    yield _shaped(found)

    asked = queries.select(F.col(id).alias("id"), F.col(others[0]).alias("source"))
    name = asked.schema["id"].dataType.simpleString()
    schema = f"query {name}, id {name}, distance int, cosine double, estimatedCosine double"
    keys = F.array(*(F.lit(key_of(segment)) for segment in range(segments)))
    each = asked.select("id", "source", F.posexplode(keys).alias("task", "key"))
    found = to_tasks(each, segments, "task").mapInArrow(search, schema)
    similarity = F.coalesce("cosine", "estimatedCosine")
    # The order in which each task gave its k: by distance only where that is all that there is.
    order = [similarity.desc(), F.when(similarity.isNull(), F.col("distance")), F.col("id")]
    best = Window.partitionBy("query").orderBy(*order)
    ranked = found.withColumn("rank", F.row_number().over(best)).where(F.col("rank") <= k)
    return ranked.select("query", "rank", "id", "distance", "cosine", "estimatedCosine")


def _shaped(found: pa.RecordBatch) -> pa.RecordBatch:
    """Answers with all columns, and ids of one type."""
    of_ids = found.schema.field("query").type
    kinds = [("query", of_ids), ("id", of_ids), ("distance", pa.int32())]
    kinds += [("cosine", pa.float64()), ("estimatedCosine", pa.float64())]
    columns = {
        name: found.column(name).cast(kind) if name in found.schema.names else pa.nulls(found.num_rows, kind)
        for name, kind in kinds
    }
    return pa.RecordBatch.from_pydict(columns)


def _files(index: dict[str, Any], segments: list[int] | None = None) -> Iterator[str]:
    """Names of the files that a search reads: those of the index, and of some segments or of all."""
    own = index["segments"] if segments is None else [index["segments"][i] for i in segments]
    for part in (index, *own):
        files = part["files"].items()
        yield from (file["name"] for kind, file in files if kind not in ("hashes", "buckets", "columns"))
