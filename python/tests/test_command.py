"""The child and its pipes: what a command that fails, is killed or writes half does to the caller."""

import collections
import io
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np
import pyarrow as pa

from halfspace import command
from halfspace.spark import nearest

CODES = pa.record_batch(
    {"id": pa.array(range(2000)), "code": pa.array([i.to_bytes(8, "little") for i in range(2000)])}
)
NEAR = ["pairs", "-", "-q", "--max-distance", "1"]


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")")[-1].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Refused(unittest.TestCase):
    def test_a_search_for_no_neighbours(self):
        for k in (0, -1):
            with self.assertRaisesRegex(ValueError, f"k expected an integer from 1 on, got {k}"):
                nearest(None, "rows.hs", None, k=k, vector="v")


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
        restore = lambda: os.environ.pop("HALFSPACE_COMMAND")
        self.addCleanup(restore if before is None else lambda: os.environ.update(HALFSPACE_COMMAND=before))

    def test_gives_what_the_command_finds(self):
        batches = [CODES.slice(i, 100) for i in range(0, 2000, 100)]
        found = pa.Table.from_batches(command.stream(NEAR, batches)).to_pylist()
        expected = {(a, a ^ (1 << i)) for a in range(2000) for i in range(11) if a < a ^ (1 << i) < 2000}
        self.assertEqual({(row["id_a"], row["id_b"]) for row in found}, expected)
        self.assertEqual(len(found), len(expected))
        self.assertEqual(list(command.stream(NEAR, [])), [])

    def test_says_what_is_wrong_with_the_data(self):
        bad = pa.record_batch({"vector": pa.array([[1.0, 2.0], [1.0, float("nan")]])})
        with self.assertRaisesRegex(command.CommandError, "stdin: row 1"):
            list(command.stream(["fingerprint", "-", "-q"], [bad]))

    def test_the_child_waits_for_the_caller_once_its_input_has_ended(self):
        equal = pa.record_batch({"id": pa.array(range(2000)), "code": pa.array([bytes(8)] * 2000)})
        found = command.stream(NEAR, [equal])
        count = next(found).num_rows
        [pid] = subprocess.run(["pgrep", "-P", str(os.getpid()), "node"], capture_output=True, text=True).stdout.split()
        time.sleep(2)
        self.assertTrue(is_alive(pid))
        self.assertEqual(count + sum(batch.num_rows for batch in found), 2000 * 1999 // 2)

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

    def test_no_flipped_byte_changes_an_answer(self):
        draw = np.random.default_rng(1)
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/codes.arrows"
            with pa.ipc.new_stream(path, CODES.schema) as writer:
                writer.write_batch(CODES)
            printed = command.run("pairs", path, "-q", "--max-distance", "1", "--to", "arrows")
        expected = pa.Table.from_batches(command.checked(io.BytesIO(printed)))
        found = collections.Counter()
        for at in draw.integers(0, len(printed), 1000):
            changed = bytearray(printed)
            changed[at] ^= 1 << draw.integers(0, 8)
            try:
                # Padding is nobody's: there the answer is the same.
                self.assertEqual(pa.Table.from_batches(command.checked(io.BytesIO(changed))), expected)
                found["same"] += 1
            except command.CommandError as error:
                self.assertRegex(str(error), "is damaged|is cut short")
                found["refused"] += 1
        self.assertGreater(found["refused"], 900)

    def in_python(self, script, **environment):
        """What a Python of its own prints."""
        made = subprocess.run(
            [sys.executable, "-c", script], env={**os.environ, **environment}, capture_output=True, text=True
        )
        self.assertEqual(made.returncode, 0, made.stderr)
        return made.stdout.strip()

    @unittest.skipUnless(sys.platform == "linux", "an address limit")
    def test_a_child_joins_2_000_000_codes_within_the_addresses_of_a_limited_worker(self):
        script = """
import resource, numpy as np, pyarrow as pa
from halfspace import command
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
codes = np.random.default_rng(1).integers(-2**63, 2**63, 2_000_000)
codes[-1000:] = codes[:1000] ^ 5
rows = pa.record_batch({"code": pa.array(codes)})
words = ["pairs", "-", "-q", "--code", "code", "--bits", "64", "--max-distance", "2"]
pieces = (rows.slice(at, 10_000) for at in range(0, len(rows), 10_000))
print(sum(batch.num_rows for batch in command.stream(words, pieces)))
"""
        self.assertEqual(self.in_python(script), "1000")

    @unittest.skipUnless(sys.platform == "linux", "an address limit")
    def test_a_child_that_lacks_addresses_says_which_setting_limits_them(self):
        self.instead("console.error('Array buffer allocation failed'); process.exitCode = 3;")
        script = """
import resource
from halfspace import command
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
try: command.run("--version")
except command.CommandError as error: print(error)
"""
        said = self.in_python(script)
        self.assertEqual(said, f"{command.LIMITED}: Array buffer allocation failed")

    def test_a_package_in_a_zip_file_says_what_to_do(self):
        package = pathlib.Path(command.__file__).parent
        with tempfile.TemporaryDirectory() as folder:
            shutil.make_archive(f"{folder}/h", "zip", package.parent, package.name)
            script = "from halfspace import command\ntry: command.bundle()\nexcept command.CommandError as e: print(e)"
            made = self.in_python(script, PYTHONPATH=f"{folder}/h.zip", HALFSPACE_COMMAND="")
            self.assertIn("Spark unpacks those of --archives, not of --py-files", made)

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
child = command.start(["fingerprint", "-", "--from", "arrows"])
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
