"""The child and its pipes: what a command that fails, is killed or writes half does to the caller."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import pyarrow as pa

from halfspace import command

CODES = pa.record_batch(
    {"id": pa.array(range(2000)), "code": pa.array([i.to_bytes(8, "little") for i in range(2000)])}
)
NEAR = ["pairs", "-", "-q", "--max-distance", "1"]


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")")[-1].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Child(unittest.TestCase):
    def instead(self, script):
        """Runs a script in place of the command, which is `process.env.REAL` there."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name, "command.mjs")
        path.write_text(script)
        before = os.environ.get("HALFSPACE_COMMAND")
        os.environ["REAL"] = before or str(command.BUNDLE)
        os.environ["HALFSPACE_COMMAND"] = str(path)
        restore = lambda: os.environ.pop("HALFSPACE_COMMAND")  # noqa: E731
        self.addCleanup(restore if before is None else lambda: os.environ.update(HALFSPACE_COMMAND=before))

    def test_gives_what_the_command_finds(self):
        batches = [CODES.slice(i, 100) for i in range(0, 2000, 100)]
        found = pa.Table.from_batches(command.stream(NEAR, batches)).to_pylist()
        expected = {(a, a ^ (1 << i)) for a in range(2000) for i in range(11) if a < a ^ (1 << i) < 2000}
        self.assertEqual({(row["id_a"], row["id_b"]) for row in found}, expected)
        self.assertEqual(len(found), len(expected))
        self.assertEqual(list(command.stream(NEAR, [])), [])

    def test_says_what_is_wrong_with_the_data_and_by_its_exit_code(self):
        bad = pa.record_batch({"vector": pa.array([[1.0, 2.0], [1.0, float("nan")]])})
        with self.assertRaisesRegex(command.CommandError, "stdin: row 1") as caught:
            list(command.stream(["fingerprint", "-", "-q"], [bad]))
        self.assertEqual(caught.exception.exit_code, 3)

    def test_refuses_an_output_that_is_cut_between_batches_though_the_command_ends_well(self):
        # The first message of the output, the schema, and then a proper end.
        self.instead(
            """import { spawnSync } from 'node:child_process';
            import { readFileSync, writeSync } from 'node:fs';
            const input = readFileSync(0);
            const { stdout } = spawnSync(process.execPath, [process.env.REAL, ...process.argv.slice(2)], { input });
            writeSync(1, stdout.subarray(0, 8 + stdout.readInt32LE(4)));
            writeSync(1, Buffer.from([255, 255, 255, 255, 0, 0, 0, 0]));"""
        )
        with self.assertRaisesRegex(command.CommandError, "cut short after row 0"):
            list(command.stream(NEAR, [CODES]))

    def test_fails_when_the_child_is_killed(self):
        self.instead("process.stdin.once('data', () => process.kill(process.pid, 'SIGKILL'));")
        with self.assertRaisesRegex(command.CommandError, "ended with -9"):
            list(command.stream(NEAR, [CODES] * 50))

    def test_leaves_no_child_when_the_caller_stops_early(self):
        batches = (CODES for _ in range(10**9))
        found = command.stream(["fingerprint", "-", "-q", "--code", "code"], batches)
        next(found)
        started = subprocess.run(["pgrep", "-P", str(os.getpid())], capture_output=True, text=True)
        found.close()
        self.assertTrue(started.stdout.split())
        for pid in started.stdout.split():
            self.assertFalse(is_alive(pid))

    @unittest.skipUnless(sys.platform == "linux", "other systems end a child by its pipes")
    def test_the_child_ends_with_a_parent_that_is_killed(self):
        script = """
import sys, time, pyarrow as pa
from halfspace import command
child = command.start(["fingerprint", "-", "--from", "arrows"], stdin=-1, stdout=-1, stderr=-1)
print(child.pid, flush=True)
time.sleep(100)
"""
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as parent:
            pid = int(parent.stdout.readline())
            self.assertTrue(is_alive(pid))
            parent.send_signal(signal.SIGKILL)
        limit = time.monotonic() + 20
        while is_alive(pid) and time.monotonic() < limit:
            time.sleep(0.05)
        self.assertFalse(is_alive(pid))


if __name__ == "__main__":
    unittest.main()
