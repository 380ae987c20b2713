"""Codes in ClickHouse, by its function `executable`: the engine itself, as PyPI has it, runs the command
as docs/spark.md says."""

import os
import pathlib
import tempfile
import unittest

import chdb
import numpy as np
import pyarrow as pa

from halfspace import command

ROWS = 1000
VECTORS = f"SELECT number AS id, [sin(number), cos(3 * number), number % 7 - 2.5] AS v FROM numbers({ROWS})"
SCRIPT = """#!/bin/sh
"{node}" "{command}" fingerprint - --from arrows --to arrows --id id --vector v --bits 64 -q
{then}
"""


class ClickHouse(unittest.TestCase):
    def codes(self, rows, then=""):
        """The codes that ClickHouse has of rows, in their order."""
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder, "codes.sh")
            bundle = os.environ.get("HALFSPACE_COMMAND") or command.BUNDLE
            script.write_text(SCRIPT.format(node=command.node(), command=bundle, then=then))
            script.chmod(0o755)
            base = chdb.connect(f"{folder}/base?user_scripts_path={folder}")
            made = f"""SELECT hex(code) FROM executable('codes.sh', ArrowStream, 'id UInt64, code FixedString(8)',
                ({rows}), SETTINGS check_exit_code = 1) ORDER BY id"""
            try:
                return str(base.query(made, "TSV")).split()
            finally:
                base.close()

    def test_has_the_codes_of_the_command(self):
        number = np.arange(ROWS)
        vectors = np.stack([np.sin(number), np.cos(3 * number), number % 7 - 2.5], axis=1)
        batch = pa.record_batch({"id": pa.array(number), "v": pa.array(vectors.tolist())})
        words = ["fingerprint", "-", "-q", "--id", "id", "--vector", "v", "--bits", "64"]
        table = pa.Table.from_batches(command.stream(words, [batch]))
        expected = [code.hex().upper() for code in table.column("code").to_pylist()]
        self.assertEqual(self.codes(VECTORS), expected)

    def test_a_command_that_fails_fails_the_query(self):
        with self.assertRaisesRegex(Exception, "exit|exited|return code"):
            self.codes(VECTORS, then="exit 9")
        with self.assertRaises(Exception):
            self.codes(VECTORS.replace("cos(3 * number)", "if(number = 9, nan, 1)"))


if __name__ == "__main__":
    unittest.main()
