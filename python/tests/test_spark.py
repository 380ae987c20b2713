"""Answers on Spark equal those of the command on one machine, whatever the partitions, and after
children and workers were killed. One session, small data: what is tested is how work is cut."""

import hashlib
import json
import os
import pathlib
import signal
import tempfile
import unittest

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from halfspace import command
from halfspace.spark import build_index, components, dedup, doctor, fingerprint, nearest, pairs

ROWS = 900
WORDS = [f"w{i}" for i in range(400)]
#: The command, which kills itself when it has read its first bytes where a file says so.
SCRIPT = """import { unlinkSync } from 'node:fs';
let isKilled = false;
try { unlinkSync(process.env.KILL); isKilled = true; } catch {}
if (isKilled) process.stdin.once('data', () => process.kill(process.pid, 'SIGKILL'));
else await import(process.env.REAL);"""
spark = folder = None


def setUpModule():
    global spark, folder
    folder = tempfile.TemporaryDirectory()
    script = pathlib.Path(folder.name, "command.mjs")
    script.write_text(SCRIPT)
    os.environ["REAL"] = pathlib.Path(os.environ.get("HALFSPACE_COMMAND") or command.BUNDLE).as_uri()
    os.environ["HALFSPACE_COMMAND"] = str(script)
    os.environ["KILL"] = f"{folder.name}/kill"
    builder = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.driver.memory", "1g")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")


def tearDownModule():
    spark.stop()
    folder.cleanup()


def texts(count):
    """Texts of which every third is the one before with few words changed, some equal."""
    draw = np.random.default_rng(1)
    made = []
    for i in range(count):
        words = list(draw.choice(WORDS, 40))
        if i % 3 == 2:
            words = made[-1].split()
            for at in draw.integers(0, 40, i % 4):
                words[at] = WORDS[int(draw.integers(0, 400))] + "x" * int(draw.integers(0, 3))
        made.append(" ".join(words))
    return made


def codes(count):
    """Codes: uniform, around few centres, many equal, half of them alike in their first 16 bits."""
    draw = np.random.default_rng(2)
    made = draw.integers(0, 256, (count, 8), np.uint8)
    made[: count // 2, :2] = 7
    made[: count // 6] = made[0]
    for row in range(count // 6, count // 3):
        made[row] = made[count // 6 + row % 9]
        for bit in draw.integers(0, 64, draw.integers(0, 4)):
            made[row, bit >> 3] ^= 1 << (bit & 7)
    return [bytes(code) for code in made]


def on_one_machine(table, *words):
    """The rows that the command makes of a table, as dictionaries."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/in.arrows"
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table)
        printed = command.run(words[0], path, "-q", *words[1:], "--to", "jsonl")
    return [json.loads(line) for line in printed.splitlines()]


def digest(rows):
    return hashlib.sha256("\n".join(sorted(map(repr, rows))).encode()).hexdigest()


def once(marker):
    """True at the first call on this machine."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        return True
    except FileExistsError:
        return False


class OnSpark(unittest.TestCase):
    def test_doctor_finds_what_is_needed(self):
        for row in doctor(spark, 2).collect():
            self.assertIsNone(row["problem"])
            self.assertTrue(row["node"].startswith("v"))

    def test_fingerprints_equal_those_of_the_command(self):
        draw = np.random.default_rng(3)
        vectors = [None if i == 5 else draw.normal(size=12).tolist() for i in range(300)]
        bodies = ["" if i == 7 else text for i, text in enumerate(texts(300))]
        entries = [{int(k): 1.5 for k in draw.integers(0, 10**6, 5)} for _ in range(300)]
        sparse = pa.array([list(one.items()) for one in entries], pa.map_(pa.int64(), pa.float64()))
        columns = {"id": range(300), "v": vectors, "t": bodies, "m": sparse}
        table = pa.table(columns)
        expected = {}
        for name, kind, words in [("v", "vector", ()), ("t", "text", ("--tokens", "shingles:2")), ("m", "vector", ())]:
            made = on_one_machine(table.select(["id", name]), "fingerprint", f"--{kind}", name, "--bits", "100", *words)
            expected[name] = [(row["id"], row["code"]) for row in made]
        rows = spark.createDataFrame(table.to_pandas(maps_as_pydicts="strict"), "id long, v array<double>, t string, m map<long,double>")
        hashed = {
            "v": fingerprint("v", bits=100, on_error="null").alias("v"),
            "t": fingerprint("t", bits=100, tokens="shingles:2").alias("t"),
            "m": fingerprint("m", bits=100).alias("m"),
        }
        for partitions, names in ((1, ["v"]), (2, ["v", "t", "m"]), (7, ["v"])):
            made = rows.repartition(partitions).select("id", *(hashed[name] for name in names))
            made = made.collect()
            for name in names:
                found = [(row["id"], row[name] and row[name].hex()) for row in made]
                self.assertEqual(digest(found), digest(expected[name]), (name, partitions))

    def test_pairs_are_those_of_the_command_after_kills_too(self):
        table = pa.table({"id": pa.array([f"r{i:04}" for i in range(ROWS)]), "code": codes(ROWS)})
        made = on_one_machine(table, "pairs", "--max-distance", "3", "--bits", "64")
        expected = digest((row["id_a"], row["id_b"], row["distance"]) for row in made)
        self.assertGreater(len(made), ROWS)
        rows = spark.createDataFrame(table.to_pandas(), "id string, code binary")
        marker, kill = f"{folder.name}/worker", pathlib.Path(os.environ["KILL"])
        for partitions, cell_rows in ((1, 10**6), (2, 400), (7, 250)):
            # A worker of the 2 and a child of the 7 partitions are killed once.
            parts = rows.repartition(partitions)
            if partitions == 2:
                parts = parts.mapInArrow(_deadly(marker), "id string, code binary")
            if partitions == 7:
                kill.touch()
            found = [tuple(row) for row in pairs(parts, 3, cell_rows=cell_rows).collect()]
            self.assertEqual(len(found), len(made), (partitions, cell_rows))
            self.assertEqual(digest(found), expected, (partitions, cell_rows))
        self.assertEqual([os.path.exists(marker), kill.exists()], [True, False])

    def test_plans_equal_those_of_the_command_row_for_row(self):
        table = pa.table({"id": pa.array([f"r{i:04}" for i in range(300)]), "body": texts(300)})
        rows = spark.createDataFrame(table.to_pandas(), "id string, body string").repartition(3)
        words = ["dedup", "--all-rows", "--text", "body", "--measure", "cosine", "--bits", "64", "--max-distance", "9", "--keep", "longest"]
        made = on_one_machine(table, *words)
        names = [row["id"] for row in made]
        expected = [
            (row["id"], names[row["group"]], row["action"], names[row["duplicate_of"]], row["distance"])
            for row in made
        ]
        self.assertGreater(sum(row["action"] == "drop" for row in made), 50)
        plan = dedup(rows, "id", text="body", max_distance=9, keep="longest", cell_rows=200)
        self.assertEqual(digest(map(tuple, plan.collect())), digest(expected))

    def test_components_of_long_chains(self):
        draw = np.random.default_rng(4)
        names = draw.permutation(40).tolist()
        chains = [names[i : i + 10] for i in range(0, 40, 10)]
        edges = [(a, b) for chain in chains for a, b in zip(chain, chain[1:])]
        near = spark.createDataFrame(edges, "id_a long, id_b long")
        expected = [(one, min(chain)) for chain in chains for one in chain]
        self.assertEqual(digest(map(tuple, components(near).collect())), digest(expected))

    def test_the_nearest_rows_over_shards_are_the_nearest_of_all(self):
        draw = np.random.default_rng(5)
        vectors = draw.normal(size=(300, 16)).astype(np.float32)
        rows = spark.createDataFrame([(i, v.tolist()) for i, v in enumerate(vectors)], "id long, v array<float>")
        with tempfile.TemporaryDirectory() as folder:
            path = str(pathlib.Path(folder, "docs.hs"))
            build_index(rows, path, vector="v", vectors="float32", shards=3)
            found = nearest(spark, path, rows.where("id < 20"), k=5, vector="v").collect()
            shards = json.loads(pathlib.Path(path, "index.json").read_text())["shards"]
            self.assertEqual(sum(one["rows"] for one in shards), 300)
        unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        true = np.argsort(-(unit[:20] @ unit.T), axis=1)[:, :5]
        own = {(row["query"], row["rank"]): row["id"] for row in found}
        shared = sum(own[query, rank + 1] in true[query] for query in range(20) for rank in range(5))
        self.assertEqual(len(own), 100)
        self.assertGreaterEqual(shared, 95)


def _deadly(marker):
    """Passes batches on; the first worker that does so is killed."""

    def passed(batches):
        for batch in batches:
            if once(marker):
                os.kill(os.getpid(), signal.SIGKILL)
            yield batch

    return passed


if __name__ == "__main__":
    unittest.main()
