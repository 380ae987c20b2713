"""The same calls by Spark Connect, where the client has no JVM."""

import json
import pathlib
import tempfile
import unittest

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from python.tests.test_spark import SETTINGS, digest, on_one_machine, texts

from halfspace.spark import build_index, components, dedup, doctor, fingerprint, nearest, pairs

ROWS = 200


class OnConnect(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.spark = SparkSession.builder.remote("local[2]").config(map=SETTINGS).getOrCreate()

    @classmethod
    def tearDownClass(cls):
        cls.spark.stop()

    def test_answers_are_those_of_the_command(self):
        spark = self.spark
        self.assertIn("connect", type(spark).__module__)
        self.assertIsNone(doctor(spark, 2).first()["problem"])
        bodies = texts(ROWS)
        table = pa.table({"id": pa.array([f"r{i:04}" for i in range(ROWS)]), "body": bodies})
        rows = spark.createDataFrame(table.to_pandas(), "id string, body string").repartition(2)
        text = ["--text", "body", "--bits", "64", "--max-distance", "9"]
        hashing = {"bits": 64, "tokens": "shingles:2", "counting": "log"}
        codes = fingerprint(rows, "body", **hashing).cache()

        made = on_one_machine(table, "pairs", *text)
        near = [(row["id_a"], row["id_b"], row["distance"]) for row in made]
        self.assertGreater(len(near), ROWS // 10)
        self.assertEqual(digest(map(tuple, pairs(codes, max_distance=9).collect())), digest(near))

        made = on_one_machine(table, "dedup", *text, to="arrows")
        names = [row["id"] for row in made]
        expected = [(row["id"], names[row["group"]], row["action"]) for row in made]
        plan = dedup(rows, text="body", max_distance=9).select("id", "group", "action")
        self.assertEqual(digest(map(tuple, plan.collect())), digest(expected))

        found = components(pairs(codes, max_distance=9)).agg(F.countDistinct("component"), F.count("*")).first()
        self.assertEqual(found[1], len({name for row in near for name in row[:2]}))
        self.assertGreater(found[0], 5)

    def test_the_nearest_rows_are_found(self):
        vectors = np.random.default_rng(1).normal(size=(60, 8))
        rows = self.spark.createDataFrame(list(enumerate(vectors.tolist())), "id long, v array<double>")
        unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        best = np.argsort(-(unit[:5] @ unit.T), axis=1)[:, :3]
        with tempfile.TemporaryDirectory() as folder:
            path = str(pathlib.Path(folder, "docs.hs"))
            build_index(rows, path, vector="v", vectors="float32", segments=2)
            found = nearest(self.spark, path, rows.where("id < 5"), k=3, vector="v").collect()
        own = {(row["query"], row["rank"]): row["id"] for row in found}
        self.assertEqual(own, {(query, rank + 1): best[query, rank] for query in range(5) for rank in range(3)})

    def test_a_recall_is_measured_over_all_segments(self):
        vectors = np.random.default_rng(2).normal(size=(5000, 6)).astype(np.float32)
        rows = self.spark.createDataFrame([(i, v.tolist()) for i, v in enumerate(vectors)], "id long, v array<float>")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "docs.hs")
            build_index(rows, str(path), vector="v", bits=128, segments=2, recall=0.9)
            report = json.loads((path / "manifest-000001.json").read_text())["index"]["report"]
        self.assertEqual((report["rows"], report["stale"], report["warnings"]), (5000, False, []))


if __name__ == "__main__":
    unittest.main()
