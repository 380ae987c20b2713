"""Rows of files as each program reads them, as JSON by file and program: read.py FILE…"""

import json
import sys

import duckdb
import polars
import pyarrow
import pyarrow.parquet


def arrow_table(path):
    if path.endswith(".parquet"):
        return pyarrow.parquet.read_table(path)
    with pyarrow.OSFile(path) as source:
        is_file = source.read(6) == b"ARROW1"
        source.seek(0)
        opened = pyarrow.ipc.open_file(source) if is_file else pyarrow.ipc.open_stream(source)
        return opened.read_all()


def by_pyarrow(path):
    return arrow_table(path).to_pylist()


def by_polars(path):
    if path.endswith(".parquet"):
        return polars.read_parquet(path).to_dicts()
    is_stream = path.endswith(".arrows")
    return (polars.read_ipc_stream if is_stream else polars.read_ipc)(path).to_dicts()


def by_duckdb(path):
    rows = arrow_table(path)  # noqa: F841, DuckDB finds it by its name
    source = f"'{path}'" if path.endswith(".parquet") else "rows"
    found = duckdb.sql(f"SELECT * FROM {source}")
    return [dict(zip(found.columns, row)) for row in found.fetchall()]


def plain(value):
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).hex()
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value


def plain_rows(rows):
    return [{name: plain(value) for name, value in row.items()} for row in rows]


READERS = {"pyarrow": by_pyarrow, "polars": by_polars, "duckdb": by_duckdb}
paths = sys.argv[1:]
read = {path: {name: plain_rows(by(path)) for name, by in READERS.items()} for path in paths}
print(json.dumps(read))
