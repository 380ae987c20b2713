"""An index in one folder, whose segments tasks write and search, and the nearest rows over all of them.

Rows with equal codes are in one segment. A task puts its files into the folder under names of their
own and hands over the manifest of its part; the driver merges the manifests, and writes the one of the
folder last: before, there is no index. Files of tasks that were tried again are not in it.
"""

import itertools
import json
import math
import os
import re
import tempfile

import pyarrow as pa
from pyarrow import fs
from pyspark.sql import Window
from pyspark.sql import functions as F

from ..command import run, stream
from .fingerprint import fingerprint, options

#: Rows that a task writes, as a segment.
SEGMENT_ROWS = 2_000_000
#: What a task holds of its rows.
MEMORY = "1GB"
MANIFEST = "manifest-000001.json"
#: Fewer rows are all looked at; `halfspace index --optimize` makes so many partitions of others, and
#: trains each with so many rows.
MIN_ROWS, PER_ROOT, MOST_PARTITIONS, SAMPLE = 4096, 3.5, 8192, 40


def build_index(rows, path, id="id", vector=None, text=None, segments=None, recall=None, **hashing):
    """Makes an index folder at a path or an URI that pyarrow knows: the command opens it as any other.
    `recall=0.95`, for vectors, trains centroids on a sample and finds that share of the true neighbours in
    the rows of each task. Further options are those of `halfspace index`: vectors, bits, seed, tokens."""
    if (vector is None) == (text is None):
        raise ValueError("give one of vector and text")
    if text is not None and recall is not None:
        raise ValueError("recall is for vectors: searches of texts look at all rows, and miss none")
    kind, column = ("vector", vector) if text is None else ("text", text)
    storage, root = fs.FileSystem.from_uri(path)
    if _manifests(storage, root):
        raise FileExistsError(f"{path} holds an index")
    chosen = rows.select(F.col(id).alias("id"), F.col(column).alias("source"))
    total = chosen.count()
    if total == 0:
        raise ValueError("there are no rows to index")
    twice = chosen.groupBy("id").count().where("count > 1").first()
    if twice is not None:
        raise ValueError(f"the id {twice['id']!r} is there {twice['count']} times")
    words = ["index", "-", "-q", "--id", "id", f"--{kind}", "source", *options(**hashing)]
    model = {}
    if recall is not None and total >= MIN_ROWS:
        model = _trained(chosen, total, [*words, *options(optimize=True, recall=recall)])
        words += options(optimize=True, recall=recall)
    tasks = segments or -(-total // SEGMENT_ROWS)
    codes = {name: value for name, value in hashing.items() if name != "vectors"}
    # Rows with equal codes meet; those without a code go anywhere.
    code = fingerprint("source", **codes)
    key = F.coalesce(code, F.col("id").cast("string").cast("binary"))
    parted = chosen.withColumn("task", F.pmod(F.xxhash64(key), F.lit(tasks)).cast("int"))
    counts = {one["task"]: one["count"] for one in parted.groupBy("task").count().collect()}
    starts = [0, *itertools.accumulate(counts.get(i, 0) for i in range(tasks))]

    def build(batches):
        first = next(batches, None)
        if first is None:
            return
        number = first.column("task")[0].as_py()
        own = (one.select(["id", "source"]) for one in itertools.chain([first], batches))
        with tempfile.TemporaryDirectory() as folder:
            made = f"{folder}/part.hs"
            where = ["-o", made, "--memory", MEMORY, "--first-row", str(starts[number])]
            if model:
                where += ["--like", _written(f"{folder}/like.hs", model)]
            for _ in stream([*words, *where], own, has_output=False):
                pass
            with open(f"{made}/{MANIFEST}", "rb") as file:
                manifest = file.read()
            for name in (MANIFEST, "manifest.json"):
                os.remove(f"{made}/{name}")
            target, root = fs.FileSystem.from_uri(path)
            target.create_dir(root, recursive=True)
            fs.copy_files(made, root, destination_filesystem=target)
        yield pa.RecordBatch.from_pylist([{"manifest": manifest}])

    # In the order of ids: a segment then has ties in the order of `halfspace search --ties id`.
    parts = parted.repartitionById(tasks, "task").sortWithinPartitions("id")
    made = [one["manifest"] for one in parts.mapInArrow(build, "manifest binary").collect()]
    _publish(storage, root, [bytes(one) for one in made])


def _trained(chosen, total, words):
    """The files of an index of a sample whose centroids are for all rows, by their names."""
    wanted = PER_ROOT * math.sqrt(total)
    partitions = min(MOST_PARTITIONS, 2 ** round(math.log2(wanted)))
    share = min(1.0, 1.5 * max(SAMPLE * partitions, 2**14) / total)

    def train(batches):
        with tempfile.TemporaryDirectory() as folder:
            made = f"{folder}/like.hs"
            where = ["--partitions", str(partitions), "-o", made]
            for _ in stream([*words, *where], batches, has_output=False):
                pass
            with open(f"{made}/{MANIFEST}", "rb") as file:
                manifest = file.read()
            files = json.loads(manifest)["files"]
            names = [one["name"] for one in files if one["kind"] in ("centres", "frequencies")]
            for name in (MANIFEST, *names):
                with open(f"{made}/{name}", "rb") as file:
                    yield pa.RecordBatch.from_pylist([{"name": name, "bytes": file.read()}])

    sample = chosen.sample(share, seed=0).repartition(1)
    found = sample.mapInArrow(train, "name string, bytes binary").collect()
    return {one["name"]: bytes(one["bytes"]) for one in found}


def _written(folder, files):
    os.mkdir(folder)
    for name, data in files.items():
        with open(f"{folder}/{name}", "wb") as file:
            file.write(data)
    return folder


def _publish(storage, root, manifests):
    """Merges the manifests of parts whose files are in the folder."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [_written(f"{folder}/{i}.hs", {MANIFEST: one}) for i, one in enumerate(manifests)]
        run("index", *paths, "--merge", "--manifests-only", "-q", "-o", f"{folder}/all.hs")
        with open(f"{folder}/all.hs/{MANIFEST}", "rb") as file:
            merged = file.read()
    for name in (MANIFEST, "manifest.json"):
        with storage.open_output_stream(f"{root}/{name}.tmp") as out:
            out.write(merged)
        storage.move(f"{root}/{name}.tmp", f"{root}/{name}")
    names = {file["name"] for one in manifests for file in json.loads(one)["files"]}
    for name in names - {file["name"] for file in json.loads(merged)["files"]}:
        storage.delete_file(f"{root}/{name}")


def _manifests(storage, root):
    """The manifests in a folder, by their generations."""
    listed = storage.get_file_info(fs.FileSelector(root, allow_not_found=True))
    found = [re.fullmatch(r"manifest-(\d{6,})\.json", one.base_name) for one in listed]
    return {int(one[1]): one[0] for one in found if one}


def nearest(spark, path, queries, k=10, id="id", vector=None, text=None, rank=None):
    """The k nearest rows of an index to each query, whose ids are of the type of the index's: a
    DataFrame of query, rank, id, distance, cosine (exact) and estimatedCosine, one of which is null,
    ordered by cosine, then id. Every segment is searched by one task, with all queries."""
    storage, root = fs.FileSystem.from_uri(path)
    there = _manifests(storage, root)
    if not there:
        raise FileNotFoundError(f"{path} holds no index")
    newest = there[max(there)]
    with storage.open_input_stream(f"{root}/{newest}") as file:
        manifest = file.read()
    index = json.loads(manifest)
    segments = sum(one["kind"] == "rows" for one in index["files"])
    kind = "vector" if index["text"] is None else "text"
    words = ["-", "-q", "--id", "id", f"--{kind}", "source", "--ties", "id", *options(k=k, rank=rank)]

    def search(batches):
        first = next(batches, None)
        if first is None:
            return
        segment = first.column("task")[0].as_py()
        asked = (one.select(["id", "source"]) for one in itertools.chain([first], batches))
        of_ids = first.schema.field("id").type
        kinds = [("query", of_ids), ("id", of_ids), ("distance", pa.int32())]
        kinds += [("cosine", pa.float64()), ("estimatedCosine", pa.float64())]
        source, root = fs.FileSystem.from_uri(path)
        with tempfile.TemporaryDirectory() as folder:
            local = _written(f"{folder}/index.hs", {newest: manifest})
            for name in _files(index, segment):
                fs.copy_files(f"{root}/{name}", f"{local}/{name}", source_filesystem=source)
            where = ["--memory", MEMORY, "--segments", f"{segment}-{segment}"]
            for found in stream(["search", local, *words, *where], asked):
                there = found.schema.names
                none = [None] * found.num_rows
                columns = {
                    name: found.column(name).cast(kind) if name in there else pa.array(none, kind)
                    for name, kind in kinds
                }
                yield pa.RecordBatch.from_pydict(columns)

    asked = queries.select(F.col(id).alias("id"), F.col(vector or text).alias("source"))
    name = asked.schema["id"].dataType.simpleString()
    schema = f"query {name}, id {name}, distance int, cosine double, estimatedCosine double"
    each = asked.withColumn("task", F.explode(F.sequence(F.lit(0), F.lit(segments - 1))))
    found = each.repartitionById(segments, "task").mapInArrow(search, schema)
    similarity = F.coalesce("cosine", "estimatedCosine")
    # The order in which each task gave its k: by distance only where that is all that there is.
    order = [similarity.desc(), F.when(similarity.isNull(), F.col("distance")), F.col("id")]
    best = Window.partitionBy("query").orderBy(*order)
    ranked = found.withColumn("rank", F.row_number().over(best)).where(F.col("rank") <= k)
    return ranked.select("query", "rank", "id", "distance", "cosine", "estimatedCosine")


def _files(index, segment):
    """Names of the files that a search of one segment reads."""
    for kind in ("rows", "vectors", "blocks"):
        yield from [one["name"] for one in index["files"] if one["kind"] == kind][segment : segment + 1]
    for one in index["files"]:
        if one["kind"] in ("centres", "removed", "frequencies"):
            yield one["name"]
