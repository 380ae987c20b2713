"""What each executor has, and what it lacks."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

SCHEMA = "host string, python string, pyarrow string, node string, command string, problem string"


def doctor(spark: SparkSession, tasks: int = 16) -> DataFrame:
    """Runs small tasks at once and returns a DataFrame with a row for each machine that they ran on:
    versions, and in `problem` what is missing; null where all is well.

    >>> doctor(spark).where("problem is not null").show(truncate=False)
    """

    # Without a name of this module: it comes to workers that lack the package.
    def look(_: int) -> dict[str, str]:
        import platform
        import socket
        import subprocess

        found = {"host": socket.gethostname(), "python": platform.python_version()}
        try:
            import pyarrow as pa

            from halfspace.command import node, run, stream

            found["pyarrow"] = pa.__version__
            found["node"] = subprocess.check_output([node(), "--version"], text=True).strip()
            # The oldest that knows all the options that a child may get.
            if tuple(map(int, found["node"].lstrip("v").split(".")[:2])) < (20, 15):
                raise ValueError(f"Node 20.15 or newer is needed, {node()} is {found['node']}")
            found["command"] = run("--version").decode().strip()
            codes = pa.record_batch({"id": pa.array([1, 2]), "code": pa.array([b"halfspac", b"halfspab"])})
            words = ["pairs", "-", "-q", "--code", "code", "--max-distance", "2"]
            pairs = sum(batch.num_rows for batch in stream(words, [codes]))
            if pairs != 1:
                raise ValueError(f"two near codes made {pairs} pairs, expected 1")
        except ImportError as problem:
            found["problem"] = f"halfspace-spark or a package that it needs is missing: {problem}"
        except Exception as problem:
            found["problem"] = str(problem)
        return found

    try:
        found = spark.range(0, tasks, 1, tasks).select(F.udf(look, SCHEMA, useArrow=False)("id").alias("row"))
        return spark.createDataFrame(found.select("row.*").distinct().collect(), SCHEMA)
    except Exception as problem:
        said = str(problem).strip().rpartition("\n" if "Traceback" in str(problem) else "\0")[2]
        return spark.createDataFrame([{"problem": f"no Python ran in tasks: {said}"}], SCHEMA)
