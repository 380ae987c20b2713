"""An index on S3, by Hadoop's own file system and credentials: what is built there is searched there,
as the command searches it in a folder. The host is moto's; Maven brings hadoop-aws."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

import boto3
import numpy as np
import pandas
import pyspark
from pyspark.sql import SparkSession
from python.tests import test_spark

from halfspace import command
from halfspace.spark import build_index, nearest

#: What a user gives Spark for its own tables on S3, and nothing else.
SETTINGS = {
    **test_spark.SETTINGS,
    "spark.hadoop.fs.s3a.access.key": "key-of-hadoop",
    "spark.hadoop.fs.s3a.secret.key": "secret-of-hadoop",
    "spark.hadoop.fs.s3a.path.style.access": "true",
    "spark.hadoop.fs.s3a.connection.expect.continue": "false",  # moto does not know it
}


def setUpModule():
    global spark, host, folder, bucket
    folder = tempfile.TemporaryDirectory()
    os.environ["TMPDIR"] = tempfile.tempdir = folder.name
    log = pathlib.Path(folder.name, "host.log")
    words = [sys.executable, "-u", "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    host = subprocess.Popen(words, stderr=log.open("w"), stdout=subprocess.DEVNULL)
    while not (said := re.search(r"http://127\S+", log.read_text())):
        time.sleep(0.1)
    address = said[0]
    keys = {"aws_access_key_id": "key-of-test", "aws_secret_access_key": "secret-of-test"}
    bucket = boto3.resource("s3", endpoint_url=address, region_name="us-east-1", **keys).create_bucket(Bucket="bucket")
    [jar] = pathlib.Path(pyspark.__file__).parent.glob("jars/hadoop-client-api-*.jar")
    version = jar.stem.removeprefix("hadoop-client-api-")
    builder = SparkSession.builder.master("local[2]")
    builder = builder.config("spark.jars.packages", f"org.apache.hadoop:hadoop-aws:{version}")
    builder = builder.config("spark.hadoop.fs.s3a.endpoint", address)
    spark = builder.config(map=SETTINGS).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")


def tearDownModule():
    spark.stop()
    host.kill()
    host.wait()
    folder.cleanup()


class OnS3(unittest.TestCase):
    def test_an_index_is_built_measured_and_searched_there(self):
        draw = np.random.default_rng(9)
        middles = draw.normal(size=(60, 16))
        vectors = (middles[draw.integers(0, 60, 5000)] + 0.5 * draw.normal(size=(5000, 16))).astype(np.float32)
        table = pandas.DataFrame({"id": range(5000), "v": vectors.tolist()})
        rows = spark.createDataFrame(table, "id long, v array<float>")
        options = {"vector": "v", "vectors": "float32", "bits": 64, "segments": 3, "recall": 0.9}
        build_index(rows, "s3a://bucket/docs.hs", **options)
        with self.assertRaisesRegex(FileExistsError, "holds an index"):
            build_index(rows, "s3a://bucket/docs.hs", **options)
        queries = table.iloc[::50]
        found = nearest(spark, "s3a://bucket/docs.hs", spark.createDataFrame(queries, rows.schema), vector="v", k=5).collect()
        # What the command finds in each segment of a copy.
        copy = pathlib.Path(folder.name, "copy.hs")
        copy.mkdir()
        for one in bucket.objects.filter(Prefix="docs.hs/"):
            bucket.download_file(one.key, copy / pathlib.Path(one.key).name)
        self.assertEqual(json.loads(command.run("verify", str(copy), "--json"))["problems"], [])
        report = json.loads((copy / "manifest.json").read_bytes())["index"]["report"]
        self.assertEqual((report["rows"], report["stale"], report["method"]), (5000, False, "partitions"))
        asked = pathlib.Path(folder.name, "queries.jsonl")
        queries.to_json(asked, orient="records", lines=True, double_precision=15)
        near = {}
        for segment in range(3):
            words = ["--memory", "64M", "--segment", str(segment), "-k", "5", "-q"]
            for line in command.run("search", str(copy), str(asked), *words).splitlines():
                row = json.loads(line)
                near.setdefault(row["query"], []).append((-row["cosine"], row["id"]))
        expected = [(query, id) for query, own in near.items() for _, id in sorted(own)[:5]]
        self.assertEqual(len(expected), 500)
        self.assertEqual(sorted((row["query"], row["id"]) for row in found), sorted(expected))


if __name__ == "__main__":
    unittest.main()
