"""What each executor has, and what it lacks."""

import os
import platform
import socket
import subprocess

from ..command import BUNDLE, node, run


def doctor(spark, tasks=16):
    """Runs small tasks and returns a DataFrame with a row for each machine that they ran on:
    versions, and in `problem` what is missing; null where all is well."""

    def look(batches):
        import pyarrow as pa

        for _ in batches:
            pass
        yield pa.RecordBatch.from_pylist([_report()], pa.schema([(n, pa.string()) for n in COLUMNS]))

    schema = ", ".join(f"{name} string" for name in COLUMNS)
    return spark.range(0, tasks, 1, tasks).mapInArrow(look, schema).dropDuplicates()


COLUMNS = ["host", "python", "pyarrow", "node", "command", "problem"]


def _report():
    import pyarrow

    found = {
        "host": socket.gethostname(),
        "python": platform.python_version(),
        "pyarrow": pyarrow.__version__,
    }
    try:
        version = subprocess.run([node(), "--version"], capture_output=True, text=True, check=True)
        found["node"] = version.stdout.strip()
        if int(found["node"].lstrip("v").split(".")[0]) < 20:
            found["problem"] = f"Node 20 or newer is needed, {node()} is {found['node']}"
        command = os.environ.get("HALFSPACE_COMMAND") or BUNDLE
        if not os.path.exists(command):
            found["problem"] = f"{command} is missing: the package is not built"
        found["command"] = run("--version").decode().strip()
    except Exception as problem:
        found.setdefault("problem", str(problem))
    return found
