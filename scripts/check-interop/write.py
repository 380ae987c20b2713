"""The rows of a JSON file in files of other programs: write.py ROWS FOLDER."""

import json
import sys

import duckdb
import numpy
import polars
import pyarrow
import pyarrow.feather
import pyarrow.parquet

rows_file, folder = sys.argv[1:]
with open(rows_file) as file:
    rows = json.load(file)
width = len(rows[0]["vector"])
names = [row["id"] for row in rows]
numbers = [row["number"] for row in rows]
vectors = numpy.array([row["vector"] for row in rows], dtype="float32")

flat = pyarrow.array(vectors.ravel())
table = pyarrow.table({
    "id": names,
    "number": pyarrow.array(numbers, pyarrow.int64()),
    "vector": pyarrow.FixedSizeListArray.from_arrays(flat, width),
})
with pyarrow.OSFile(f"{folder}/pyarrow.arrow", "w") as sink:
    with pyarrow.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=7)
with pyarrow.OSFile(f"{folder}/pyarrow.arrows", "w") as sink:
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=7)
pyarrow.feather.write_feather(table, f"{folder}/pyarrow-feather.arrow", compression="lz4")
pyarrow.parquet.write_table(table, f"{folder}/pyarrow.parquet", compression="snappy")

frame = polars.DataFrame(
    {"id": names, "number": numbers, "vector": [list(row) for row in vectors.tolist()]},
    schema={"id": polars.String, "number": polars.Int64, "vector": polars.List(polars.Float32)},
)
frame.write_ipc(f"{folder}/polars.arrow", compression="zstd")
frame.write_parquet(f"{folder}/polars.parquet", compression="zstd")
frame.write_ndjson(f"{folder}/polars.jsonl")

con = duckdb.connect()
con.register("given", table)
for ending, options in (("parquet", "FORMAT parquet"), ("jsonl", "FORMAT json"), ("csv", "HEADER")):
    con.execute(f"COPY given TO '{folder}/duckdb.{ending}' ({options})")

numpy.save(f"{folder}/numpy.npy", vectors)
numpy.save(f"{folder}/numpy-double.npy", vectors.astype("f8"))
