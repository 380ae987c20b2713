"""An index as shards, each an index folder that a task makes, and the nearest rows over all of them.

`PATH/index.json` names the shards, and is written last: before, there is no index. A task that is
tried again writes a shard of another name, and only those of tasks that ended are named.
"""

import itertools
import json
import os
import tempfile

import pyarrow as pa
from pyarrow import fs
from pyspark import TaskContext
from pyspark.sql import Window
from pyspark.sql import functions as F

from ..command import stream
from .fingerprint import options

#: Rows of a shard: 1 to 3 GB of memory in a task, by the vectors that it holds.
SHARD_ROWS = 2_000_000


def build_index(rows, path, id="id", vector=None, text=None, shards=None, recall=None, **hashing):
    """Makes an index of shards at a path or an URI that pyarrow knows; a shard is a folder that
    `halfspace search` opens too. `recall=0.95` optimizes each shard for that share of the true
    neighbours. Further options are those of `halfspace index`: vectors, bits, seed, tokens."""
    if (vector is None) == (text is None):
        raise ValueError("give one of vector and text")
    kind, column = ("vector", vector) if text is None else ("text", text)
    storage, root = fs.FileSystem.from_uri(path)
    if storage.get_file_info(f"{root}/index.json").type != fs.FileType.NotFound:
        raise FileExistsError(f"{path} holds an index")
    chosen = rows.select(F.col(id).alias("id"), F.col(column).alias("source"))
    shards = shards or -(-rows.count() // SHARD_ROWS) or 1
    words = ["index", "-", "-q", "--id", "id", f"--{kind}", "source"]
    words += options(recall=recall, optimize=recall is not None, **hashing)

    def build(batches):
        task = TaskContext.get()
        name = f"shard-{task.partitionId():05}-{task.taskAttemptId()}.hs"
        seen = _Counted(batches)
        with tempfile.TemporaryDirectory() as folder:
            for _ in stream([*words, "-o", f"{folder}/{name}"], seen, has_output=False):
                pass
            if seen.rows == 0:
                return
            target, root = fs.FileSystem.from_uri(path)
            target.create_dir(f"{root}/{name}", recursive=True)
            fs.copy_files(f"{folder}/{name}", f"{root}/{name}", destination_filesystem=target)
        yield pa.RecordBatch.from_pylist([{"shard": name, "rows": seen.rows}])

    # In the order of ids: a shard then breaks ties by id, as `halfspace search --ties id` does.
    parts = chosen.repartition(shards, "id").sortWithinPartitions("id")
    made = parts.mapInArrow(build, "shard string, rows long").orderBy("shard").collect()
    described = {"version": 1, "kind": kind, "shards": [one.asDict() for one in made]}
    storage.create_dir(root, recursive=True)
    with storage.open_output_stream(f"{root}/index.json") as out:
        out.write(json.dumps(described).encode())


class _Counted:
    """Batches, and how many rows have passed."""

    def __init__(self, batches):
        self.batches, self.rows = batches, 0

    def __iter__(self):
        for batch in self.batches:
            self.rows += batch.num_rows
            yield batch


def nearest(spark, path, queries, k=10, id="id", vector=None, text=None, rank=None):
    """The k nearest rows of an index to each query, whose ids are of the type of the index's: a
    DataFrame of query, rank, id, distance, cosine (exact) and estimatedCosine, one of which is null,
    ordered by cosine, then id. Every shard is searched by one task, with all queries."""
    storage, root = fs.FileSystem.from_uri(path)
    with storage.open_input_stream(f"{root}/index.json") as file:
        index = json.loads(file.read())
    names = [one["shard"] for one in index["shards"]]
    words = ["-", "-q", "--id", "id", f"--{index['kind']}", "source", *options(k=k, rank=rank)]

    def search(batches):
        first = next(batches, None)
        if first is None:
            return
        name = names[first.column("shard")[0].as_py()]
        asked = (one.select(["id", "source"]) for one in itertools.chain([first], batches))
        of_ids = first.schema.field("id").type
        kinds = [("query", of_ids), ("id", of_ids), ("distance", pa.int32())]
        kinds += [("cosine", pa.float64()), ("estimatedCosine", pa.float64())]
        source, root = fs.FileSystem.from_uri(path)
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(f"{folder}/{name}")
            fs.copy_files(f"{root}/{name}", f"{folder}/{name}", source_filesystem=source)
            for found in stream(["search", f"{folder}/{name}", *words], asked):
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
    if not names:
        return spark.createDataFrame([], f"query {name}, rank int, {schema.partition(', ')[2]}")
    each = asked.withColumn("shard", F.explode(F.sequence(F.lit(0), F.lit(len(names) - 1))))
    found = each.repartitionById(len(names), "shard").mapInArrow(search, schema)
    similarity = F.coalesce("cosine", "estimatedCosine")
    # The order in which each shard gave its k: by distance only where that is all that there is.
    order = [similarity.desc(), F.when(similarity.isNull(), F.col("distance")), F.col("id")]
    best = Window.partitionBy("query").orderBy(*order)
    ranked = found.withColumn("rank", F.row_number().over(best)).where(F.col("rank") <= k)
    return ranked.select("query", "rank", "id", "distance", "cosine", "estimatedCosine")

