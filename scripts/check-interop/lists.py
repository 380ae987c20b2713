"""Lists of floats in Parquet files of pyarrow, each with its rows as JSON: lists.py FOLDER."""

import itertools
import json
import random
import sys

import numpy
import pyarrow
import pyarrow.parquet

(folder,) = sys.argv[1:]
draw = random.Random(1)
ROWS = 2000
WRITES = [
    {"use_dictionary": False, "compression": "none"},
    {"use_dictionary": True, "compression": "zstd", "data_page_version": "2.0"},
    {"use_dictionary": False, "compression": "snappy", "data_page_size": 512},
    {"compression": "gzip", "row_group_size": 777, "dictionary_pagesize_limit": 100},
    {"use_dictionary": False, "compression": "brotli"},
]


def lists(has_null_items, has_null_lists, width):
    for _ in range(ROWS):
        if has_null_lists and draw.random() < 0.1:
            yield None
            continue
        count = width or draw.choice([0, 0, 1, 3, 70])
        items = [round(draw.uniform(-5, 5), 1) for _ in range(count)]
        yield [None if has_null_items and draw.random() < 0.05 else item for item in items]


kinds = itertools.product(("float", "double"), (False, True), (False, True), (0, 20), WRITES)
for i, (name, null_items, null_lists, width, options) in enumerate(kinds):
    as_held = numpy.float32 if name == "float" else float
    rows = list(lists(null_items, null_lists, width))
    item = pyarrow.field("element", pyarrow.type_for_alias(name), nullable=null_items)
    field = pyarrow.field("v", pyarrow.list_(item), nullable=null_lists)
    schema = pyarrow.schema([field])
    table = pyarrow.table({"v": pyarrow.array(rows, field.type)}, schema=schema)
    pyarrow.parquet.write_table(table, f"{folder}/{i}.parquet", **options)
    held = [row and [x if x is None else float(as_held(x)) for x in row] for row in rows]
    with open(f"{folder}/{i}.json", "w") as file:
        json.dump(held, file)
