"""What each executor has, and what it lacks."""

from __future__ import annotations

import platform
import socket
import subprocess

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ..command import CommandError, node, run, stream

COLUMNS = ["host", "python", "pyarrow", "node", "command", "problem"]
SCHEMA = ", ".join(f"{name} string" for name in COLUMNS)
#: The oldest Node, and the version that knows all the options that a child may get.
MIN_NODE = (20, 15)


def doctor(spark: SparkSession, tasks: int = 16) -> DataFrame:
    """Runs small tasks at once and returns a DataFrame with a row for each machine that they ran on:
    versions, and in `problem` what is missing; null where all is well.

    >>> doctor(spark).where("problem is not null").show(truncate=False)
    """

    # Without a name of this module: it comes to workers that lack the package.
    def look(_: int) -> tuple[str | None, ...]:
        import platform
        import socket

        try:
            from halfspace.spark.doctor import report

            return report()
        except Exception as problem:
            lacks = f"halfspace-spark or a package that it needs is missing: {problem}"
            return (socket.gethostname(), platform.python_version(), None, None, None, lacks)

    try:
        found = spark.range(0, tasks, 1, tasks).select(F.udf(look, SCHEMA)("id").alias("row"))
        rows = [tuple(row) for row in found.select("row.*").distinct().collect()]
    except Exception as problem:
        rows = [(None, None, None, None, None, f"no Python ran in tasks: {problem}")]
    return spark.createDataFrame(rows, SCHEMA)


def report() -> tuple[str | None, ...]:
    """The row of this machine."""
    found = {
        "host": socket.gethostname(),
        "python": platform.python_version(),
        "pyarrow": pa.__version__,
    }
    try:
        found["node"] = subprocess.check_output([node(), "--version"], text=True).strip()
        if tuple(map(int, found["node"].lstrip("v").split(".")[:2])) < MIN_NODE:
            raise CommandError(f"Node 20.15 or newer is needed, {node()} is {found['node']}")
        found["command"] = run("--version").decode().strip()
        codes = pa.record_batch({"id": pa.array([1, 2]), "code": pa.array([b"halfspac", b"halfspab"])})
        words = ["pairs", "-", "-q", "--code", "code", "--max-distance", "2"]
        pairs = sum(batch.num_rows for batch in stream(words, [codes]))
        if pairs != 1:
            raise CommandError(f"two near codes made {pairs} pairs, expected 1")
    except Exception as problem:
        found["problem"] = str(problem)
    return tuple(found.get(name) for name in COLUMNS)
