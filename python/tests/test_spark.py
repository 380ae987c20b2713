"""Answers on Spark equal those of the command on one machine, whatever the partitions, and after
children, workers and executors were killed. Small data: what is tested is how work is cut. On every
change (SMOKE=1) in one process, of which children and workers are killed; else on two executors."""

import collections
import contextlib
import functools
import gc
import hashlib
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

import numpy as np
import pyarrow as pa
import pyspark
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from halfspace import command
from halfspace.spark import (
    Checkpoint,
    SimHashModel,
    build_index,
    components,
    dedup,
    doctor,
    fingerprint,
    nearest,
    pairs,
)
from halfspace.spark.travel import keys_of, to_tasks

ROWS = 300
IS_SMOKE = "SMOKE" in os.environ
MASTER = "local[2,3]" if IS_SMOKE else "local-cluster[2,1,1024]"
#: How rows are divided, and who is killed while a stage is at work on them.
PARTITIONS = {2: "worker", 7: "child"} if IS_SMOKE else {1: "executor", 2: "worker", 7: "child"}
WORDS = [f"w{i}" for i in range(400)]
#: The command. Where the file FAULT has "VERB WHAT COUNT", the next COUNT children of that verb, or
#: with that option, write half their output, and then kill themselves, their worker or its executor, or end as if all were well.
SCRIPT = """import { spawnSync } from 'node:child_process';
import { readFileSync, renameSync, rmSync, writeFileSync, writeSync } from 'node:fs';
const { FAULT, REAL } = process.env;
let fault = ['', '', '0'];
try {
  if (process.argv.includes(readFileSync(FAULT, 'utf8').split(' ')[0])) {
    renameSync(FAULT, `${FAULT}.${process.pid}`);
    fault = readFileSync(`${FAULT}.${process.pid}`, 'utf8').split(' ');
    rmSync(`${FAULT}.${process.pid}`);
    if (fault[2] > 1) writeFileSync(FAULT, `${fault[0]} ${fault[1]} ${fault[2] - 1}`);
  }
} catch {}
if (fault[1] === '') await import(REAL);
else {
  const input = readFileSync(0);
  const words = [new URL(REAL).pathname, ...process.argv.slice(2)];
  const { stdout } = spawnSync(process.execPath, words, { input, maxBuffer: 2 ** 30 });
  for (let at = 0; at < stdout.length >> 1; ) at += writeSync(1, stdout.subarray(at, stdout.length >> 1));
  const parentOf = (pid) => Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')[1]);
  const victims = { child: () => process.pid, worker: () => process.ppid };
  victims.executor = () => parentOf(parentOf(process.ppid));
  if (fault[1] !== 'half') {
    process.kill(victims[fault[1]](), 'SIGKILL');
    setInterval(() => {}, 1000); // until somebody ends it
  }
}"""
spark = folder = None


def setUpModule():
    global spark, folder
    folder = tempfile.TemporaryDirectory()
    script = pathlib.Path(folder.name, "command.mjs")
    script.write_text(SCRIPT)
    os.environ["REAL"] = pathlib.Path(os.environ.get("HALFSPACE_COMMAND") or command.BUNDLE).as_uri()
    os.environ["HALFSPACE_COMMAND"] = str(script)
    os.environ["FAULT"] = f"{folder.name}/fault"
    os.environ["SPARK_LOCAL_DIRS"] = small_disk("shuffled")
    os.environ["TMPDIR"] = small_disk("temporary")
    builder = SparkSession.builder.master(MASTER)
    builder = builder.config("spark.checkpoint.dir", f"{folder.name}/checkpoints")
    spark = builder.config(map=SETTINGS).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")


#: For small data, on a cluster and over Connect.
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "1g",
    "spark.executor.memory": "600m",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Little time for compilers: the data is small.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # An executor that dies is one failure of its tasks; each test kills one.
    "spark.task.maxFailures": "3",
}


def tearDownModule():
    logs = pathlib.Path(pyspark.__file__).with_name("work") / spark.sparkContext.applicationId
    spark.stop()
    shutil.rmtree(logs, ignore_errors=True)
    for path in disks:
        subprocess.run(["umount", "-l", path], check=True)
    folder.cleanup()


def small_disk(name):
    """A folder with a disk of its own, where the system lets us mount one."""
    path = f"{folder.name}/{name}"
    os.mkdir(path)
    words = ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", path]
    with contextlib.suppress(FileNotFoundError):
        if subprocess.run(words, capture_output=True).returncode == 0:
            disks.append(path)
    return path


disks = []


@contextlib.contextmanager
def full(disk):
    """A disk has space for 16 KB; with less, Python would take another folder for temporary files."""
    # Spark deletes shuffled rows of frames that are gone, some time after the garbage is collected.
    gc.collect()
    spark.sparkContext._jvm.System.gc()
    before, free = None, os.statvfs(disk).f_bfree
    while free != before:
        time.sleep(1)
        before, free = free, os.statvfs(disk).f_bfree
    filler = pathlib.Path(disk, "filler")
    with open(filler, "wb", buffering=0) as file:
        with contextlib.suppress(OSError):
            while file.write(bytes(4096)) == 4096:
                pass
        file.truncate(file.tell() - 4 * 4096)
    try:
        yield
    finally:
        filler.unlink()


@contextlib.contextmanager
def fault(verb, what, count=1):
    """The next children of a verb meet a fault; one that is asked for must have met it."""
    while not IS_SMOKE and spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < 3:
        time.sleep(0.1)  # the driver and both executors: one may be on its way back
    path = pathlib.Path(os.environ["FAULT"])
    path.write_text(f"{verb} {what} {count}")
    try:
        yield
        if path.exists() and count == 1:
            raise AssertionError(f"no {verb} met the fault")
    finally:
        path.unlink(missing_ok=True)


def killing(frame, victim):
    """The same rows; the first task that reads them kills its worker or its executor."""
    marker = f"{folder.name}/alive"
    pathlib.Path(marker).touch()

    def pass_on(batches):
        for batch in batches:
            yield batch
            with contextlib.suppress(FileNotFoundError):
                os.unlink(marker)
                pid = os.getpid()
                for _ in range(2 if victim == "executor" else 0):
                    pid = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ")[-1].split()[1])
                os.kill(pid, signal.SIGKILL)
                time.sleep(60)

    return frame.mapInArrow(pass_on, frame.schema)


def children():
    """The commands that run on this machine as children of tasks."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if os.environ["HALFSPACE_COMMAND"].encode() in path.read_bytes().split(b"\0"):
                found.append(path.parent.name)
    return found


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


def codes(shape, count=ROWS):
    """Codes of 64 bits of a shape; those of "mixed" are of all shapes."""
    draw = np.random.default_rng([2, len(shape)])
    made = draw.integers(0, 256, (count, 8), np.uint8)
    shapes = ["half share a block", "one hot key", "half equal", "clustered"] if shape == "mixed" else [shape]
    for i, one in enumerate(shapes):
        rows = made[i * count // 6 : (i + 1) * count // 6 if shape == "mixed" else count]
        half = len(rows) // 2
        if one == "clustered":  # around few centres
            rows[:] = rows[draw.integers(0, 9, len(rows))]
        elif one == "half equal":
            rows[:half] = rows[0]
        elif one == "half share a block":
            rows[:half, :2] = 7
        elif one == "one hot key":  # in all of its bits but the last ones
            rows[:half, :7] = 9
    # Few rows near the one before, so that every shape has pairs.
    made[5::6] = made[4::6][: len(made[5::6])]
    for row in range(5, count, 6) if shape == "half equal" else range(count):
        if shape != "uniform" or row % 6 == 5:
            for bit in draw.integers(0, 64, draw.integers(0, 3)):
                made[row, bit >> 3] ^= 1 << (bit & 7)
    return [bytes(code) for code in made]


def on_one_machine(table, *words, to="jsonl", other=None):
    """The rows that the command makes of a table, or two, as dictionaries; of a plan `arrows` has all
    rows."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, one in (("in", table), ("other", other)):
            if one is not None:
                paths.append(f"{folder}/{name}.arrows")
                with pa.ipc.new_stream(paths[-1], one.schema) as writer:
                    writer.write_table(one)
        printed = command.run(words[0], *paths, "-q", *words[1:], "--to", to)
    if to == "arrows":
        return pa.ipc.open_stream(printed).read_all().to_pylist()
    return [json.loads(line) for line in printed.splitlines()]


def by_shape(found):
    """Pairs by the shape in their ids; those of two shapes, of which there are none, by both."""
    of_shape = collections.defaultdict(list)
    for a, b, distance in found:
        of_shape["+".join(sorted({a[:-5], b[:-5]}))].append((a, b, distance))
    return of_shape


def digest(rows):
    return hashlib.sha256("\n".join(sorted(map(repr, rows))).encode()).hexdigest()


class OnSpark(unittest.TestCase):
    def tearDown(self):
        # A child ends soon after its task, its worker or its executor.
        limit = time.monotonic() + 60
        while children() and time.monotonic() < limit:
            time.sleep(0.1)
        self.assertEqual(children(), [])

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
        expected["two"] = expected["m"]
        for partitions, victim in PARTITIONS.items():
            parts = rows.repartition(partitions)
            two = parts.select("id", F.map_keys("m").alias("indices"), F.map_values("m").alias("values"))
            hashed = {
                "v": fingerprint(parts.select("v", "id"), "v", bits=100),
                "t": fingerprint(parts.drop("m"), "t", bits=100, tokens="shingles:2", output="v"),
                "m": fingerprint(parts, "m", bits=100, output="m"),
                "two": fingerprint(two, "indices", "values", bits=100, keep_columns=True),
            }
            for name, made in hashed.items():
                self.assertEqual(made.columns, {"v": ["id", "code"], "t": ["id", "v"], "m": ["id", "v", "t", "m"], "two": [*two.columns, "code"]}[name])
                with fault("fingerprint", victim) if name == "v" else contextlib.nullcontext():
                    found = [(row["id"], row[-1] and row[-1].hex()) for row in made.select("id", made.columns[-1]).collect()]
                self.assertEqual(digest(found), digest(expected[name]), (name, partitions))

    def test_rows_before_the_first_value_have_null_codes(self):
        # Of more than one batch.
        rows = [(i, [1.0, 2.0] if i in (70, 130) else None) for i in range(200)]
        made = spark.createDataFrame(rows, "id long, v array<double>").coalesce(1)
        made = fingerprint(made, "v")
        self.assertEqual([row["id"] for row in made.collect() if row["code"] is not None], [70, 130])
        made = spark.createDataFrame(rows[:60], "id long, v array<double>")
        made = fingerprint(made, "v").select("code")
        self.assertEqual([row["code"] for row in made.collect()], [None] * 60)

    def test_codes_by_a_table_of_frequencies(self):
        table = pa.table({"id": range(300), "t": texts(300)})
        made = on_one_machine(table, "fingerprint", "--text", "t", "--tf-idf", "--bits", "100")
        rows = spark.createDataFrame(table.to_pandas(), "id long, t string").repartition(3)
        with tempfile.TemporaryDirectory() as folder:
            with pa.ipc.new_stream(f"{folder}/in.arrows", table.schema) as writer:
                writer.write_table(table)
            counted = f"{folder}/table.arrow"
            command.run("frequencies", f"{folder}/in.arrows", "--text", "t", "-q", "-o", counted)
            found = [(row["id"], row["code"].hex()) for row in fingerprint(rows, "t", bits=100, frequencies=counted).collect()]
        self.assertEqual(digest(found), digest((row["id"], row["code"]) for row in made))

    def test_pairs_are_those_of_the_command_after_kills_too(self):
        # By kind: the shapes that meet in one job, by how many parts of the rows a cell has. The one
        # of few equal codes is sent as it is, of the other the least id stands for equal codes first.
        kinds = {
            "distinct": (("uniform", "half share a block", "one hot key"), (1, 0.7, 0.1)),
            "equal": (("clustered", "half equal"), (1, 0.5, 0.2)),
        }
        for kind, (shapes, parts_of_rows) in kinds.items():
            ids = [f"{shape} {i:04}" for shape in shapes for i in range(ROWS)]
            own_codes = [code for shape in shapes for code in codes(shape)]
            table = pa.table({"id": pa.array(ids), "code": own_codes})
            made = on_one_machine(table, "pairs", "--max-distance", "3", "--bits", "64")
            expected = by_shape((row["id_a"], row["id_b"], row["distance"]) for row in made)
            self.assertEqual(expected.keys(), {*shapes})
            for shape in shapes:
                self.assertGreater(len(expected[shape]), ROWS // 10, shape)
            rows = spark.createDataFrame(table.to_pandas(), "id string, code binary")
            words = np.frombuffer(b"".join(own_codes), np.int64)
            longs = spark.createDataFrame(table.to_pandas().assign(code=words), "id string, code long")
            for (partitions, victim), part in zip(PARTITIONS.items(), parts_of_rows[-len(PARTITIONS) :]):
                parts = (longs if partitions == 2 else rows).repartition(partitions)
                killed = fault("pairs", victim) if kind == "distinct" else contextlib.nullcontext()
                with self.subTest(kind=kind, partitions=partitions), killed:
                    with self.assertLogs("halfspace.spark", "INFO") as logged:
                        near = pairs(parts, max_distance=3, cell_rows=int(part * len(ids)))
                    if kind == "distinct" and part == 0.1:
                        said = re.search(r"(\d+) cells by .* 4 blocks", logged.output[-1])
                        self.assertGreater(int(said[1]), 30)  # of pairs of shards too
                    found = by_shape(map(tuple, near.collect()))
                    for shape in shapes:
                        self.assertEqual(len(found[shape]), len(expected[shape]), shape)
                        self.assertEqual(digest(found[shape]), digest(expected[shape]), shape)
                    self.assertEqual(found.keys(), expected.keys())

    def test_keys_send_rows_to_the_partition_of_their_task(self):
        for tasks in (1, 24):
            rows = spark.createDataFrame([(key, task) for task, key in enumerate(keys_of(spark, tasks))], "key long, task int")
            for row in to_tasks(rows, tasks, "task").select("task", F.spark_partition_id()).collect():
                self.assertEqual(row[0], row[1])

    def test_output_that_lacks_its_second_half_fails_the_task_and_is_tried_again(self):
        draw = np.random.default_rng(8)
        vectors = draw.normal(size=(120, 6)).tolist()
        rows = spark.createDataFrame(list(enumerate(vectors)), "id long, v array<double>")
        hashed = fingerprint(rows, "v", bits=64)
        codes = spark.createDataFrame(hashed.toPandas(), hashed.schema)
        path = f"{folder.name}/half.hs"
        build_index(rows, path, vector="v", vectors="float32", segments=1)
        stages = {
            "fingerprint": lambda: hashed,
            "pairs": lambda: pairs(codes, max_distance=16),
            "dedup": lambda: dedup(codes, code="code", max_distance=12),
            "search": lambda: nearest(spark, path, rows, vector="v"),
        }
        for verb, made in stages.items():
            with self.subTest(verb=verb):
                expected = digest(map(tuple, made().collect()))
                with fault(verb, "half"):
                    self.assertEqual(digest(map(tuple, made().collect())), expected)
        # Where every try meets the fault, the job fails with its sentence.
        with fault("search", "half", 99), self.assertRaisesRegex(Exception, "output of the command is (cut|damaged)"):
            stages["search"]().collect()

    def test_plans_equal_those_of_the_command_row_for_row(self):
        table = pa.table({"id": pa.array([f"r{i:04}" for i in range(300)]), "body": texts(300)})
        rows = spark.createDataFrame(table.to_pandas(), "id string, body string")
        words = ["dedup", "--text", "body", "--bits", "64", "--max-distance", "9", "--keep", "longest"]
        made = on_one_machine(table, *words, to="arrows")
        names = [row["id"] for row in made]
        expected = [
            (row["id"], names[row["group"]], row["action"], names[row["duplicate_of"]], row["distance"])
            for row in made
        ]
        self.assertGreater(sum(row["action"] == "drop" for row in made), 50)
        for partitions, victim in PARTITIONS.items():
            with self.subTest(partitions=partitions), fault("--keep-at-most", victim):
                asked = {"text": "body", "max_distance": 9, "keep": "longest", "keep_at_most": 1}
                plan = dedup(rows.repartition(partitions), **asked, cell_rows=200)
                self.assertEqual(digest(map(tuple, plan.collect())), digest(expected))

    def test_components_that_no_task_holds_have_the_plan_of_the_command(self):
        # One component of 240 rows, of which every second stays: a Gray code with each bit twice.
        grays = (np.arange(240) ^ np.arange(240) >> 1)[np.random.default_rng(3).permutation(240)]
        spread = sum((grays >> bit & 1) * (3 << 7 * bit) for bit in range(8)).astype(np.int64)
        table = pa.table({"id": range(240), "code": spread, "value": [f"{i % 7}" for i in range(240)]})
        rows = spark.createDataFrame(table.to_pandas(), "id long, code long, value string").repartition(3)
        asks = ({"keep": "lowest:value", "keep_at_most": 2}, {"keep": "last"})
        for asked in asks:
            with self.subTest(**asked):
                words = [word for name, value in asked.items() for word in (f"--{name.replace('_', '-')}", str(value))]
                made = on_one_machine(table, "dedup", "--code", "code", "--bits", "64", "--max-distance", "3", *words, to="arrows")
                expected = [tuple(row[name] for name in ("id", "group", "action", "duplicate_of", "distance")) for row in made]
                self.assertGreater(sum(row["action"] == "keep" for row in made), 0)
                plan = dedup(rows, code="code", max_distance=3, cell_rows=100, **asked)
                self.assertEqual(digest(map(tuple, plan.collect())), digest(expected))

    def test_new_rows_are_compared_with_old_ones(self):
        ids = [f"r{i:04}" for i in range(600)]
        own = codes("mixed", 600)
        own[300:400] = own[:100]  # of equal codes too
        old, new = (pa.table({"id": ids[part], "code": own[part]}) for part in (slice(0, 350), slice(350, 600)))
        rows = [spark.createDataFrame(one.to_pandas(), "id string, code binary").repartition(3) for one in (new, old)]
        made = on_one_machine(new, "pairs", "--max-distance", "3", "--bits", "64", other=old)
        expected = [(row["id_a"], row["id_b"], row["distance"]) for row in made]
        self.assertGreater(len(expected), 50)
        for cell_rows in (10_000, 400, 60):  # one cell, shards, cells by values
            with self.subTest(cell_rows=cell_rows):
                near = pairs(*rows, max_distance=3, cell_rows=cell_rows)
                self.assertEqual(digest(map(tuple, near.collect())), digest(expected))
        few = spark.createDataFrame([(i, bytes([i] * 8)) for i in range(20)], "id long, code binary")
        self.assertNotIn("Exchange", pairs(few, few, max_distance=3)._jdf.queryExecution().toString())
        with tempfile.TemporaryDirectory() as kept:
            path = f"{kept}/old.arrow"
            with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, old.schema) as writer:
                writer.write_table(old)
            command.run("index", path, "--code", "code", "--bits", "64", "-q", "-o", f"{kept}/old.hs")
            words = ["--code", "code", "--against", f"{kept}/old.hs", "--max-distance", "3"]
            made = on_one_machine(new, "dedup", *words, to="arrows")
        names = new.column("id").to_pylist()
        expected = [
            (row["id"], row["near_to"] or names[row["duplicate_of"]], row["action"], row["distance"])
            for row in made
        ]
        self.assertGreater(sum(row["near_to"] is not None for row in made), 30)
        plan = dedup(rows[0], code="code", against=rows[1], max_distance=3)
        found = plan.select("id", "duplicate_of", "action", "distance").collect()
        self.assertEqual(digest(map(tuple, found)), digest(expected))

    def test_exact_similarities_and_groups_within_a_column(self):
        bodies, ids = (texts(160) * 2)[:240], [f"r{i:04}" for i in range(240)]
        kinds = [None if i % 17 == 0 else "ab"[i % 7 // 6] for i in range(240)]
        table = pa.table({"id": ids, "body": bodies, "kind": pa.array(kinds, pa.string())})
        rows = spark.createDataFrame(table.to_pandas(), "id string, body string, kind string").repartition(3)
        sets = ["--text", "body", "--bits", "64", "--max-distance", "20", "--min-jaccard", "0.7"]
        asked = {"text": "body", "max_distance": 20, "min_jaccard": 0.7, "cell_rows": 150}
        made = on_one_machine(table, "pairs", *sets, to="arrows")
        expected = [(row["id_a"], row["id_b"], row["distance"], row["jaccard"]) for row in made]
        self.assertGreater(len(expected), 30)
        self.assertEqual(digest(map(tuple, pairs(rows, **asked).collect())), digest(expected))
        words = ["--within", "kind", "--keep", "longest", "--keep-at-most", "2"]
        plans = {"exact": (sets, asked)}
        plans["by distance"] = (sets[:4] + ["--max-distance", "9"], {"text": "body", "max_distance": 9})
        for name, (given, options) in plans.items():
            made = on_one_machine(table, "dedup", *given, *words, to="arrows")
            expected = [(row["id"], ids[row["group"]], row["action"], row["distance"]) for row in made]
            self.assertGreater(sum(row["action"] == "drop" for row in made), 5, name)
            plan = dedup(rows, **options, within="kind", keep="longest", keep_at_most=2)
            found = plan.select("id", "group", "action", "distance").collect()
            self.assertEqual(digest(map(tuple, found)), digest(expected), name)
        draw = np.random.default_rng(7)
        vectors = draw.normal(size=(200, 8))
        vectors[100:] = vectors[:100] + 0.2 * draw.normal(size=(100, 8))
        table = pa.table({"id": range(200), "v": vectors.tolist()})
        words = ["--vector", "v", "--bits", "64", "--max-distance", "20", "--min-cosine", "0.97"]
        made = on_one_machine(table, "pairs", *words, to="arrows")
        rows = spark.createDataFrame(table.to_pandas(), "id long, v array<double>")
        found = pairs(rows, vector="v", max_distance=20, min_cosine=0.97).collect()
        expected = [(row["id_a"], row["id_b"], row["distance"], row["cosine"]) for row in made]
        self.assertGreater(len(expected), 30)
        self.assertEqual(digest(map(tuple, found)), digest(expected))

    def test_ids_that_cannot_name_rows_are_refused(self):
        rows = spark.createDataFrame([(1, b"12345678"), (2, b"12345678"), (1, b"12345679")], "id long, code binary")
        for call in (pairs, functools.partial(dedup, code="code")):
            with self.assertRaisesRegex(ValueError, '"id" has the id 1 2 times'):
                call(rows, max_distance=3)
        # A null made numbers of its neighbours' ids, and they lost their last digits.
        for ids in ((2**53 + 1, None, 2**53 + 3), ("a", None, "b")):
            kind = "string" if isinstance(ids[0], str) else "bigint"
            some = spark.createDataFrame([(one, 5 + i) for i, one in enumerate(ids)], f"id {kind}, code bigint")
            for call in (pairs, functools.partial(dedup, code="code")):
                with self.assertRaisesRegex(ValueError, '"id" has a null'):
                    call(some, max_distance=3)
        there = f"{folder.name}/few.hs"
        vectors = spark.createDataFrame([(1, [1.0, 2.0])], "id long, v array<double>")
        build_index(vectors, there, vector="v")
        for kind in ("decimal(10,2)", "date", "timestamp", "binary", "double", "boolean"):
            ids = rows.select(F.lit(None).cast(kind).alias("id"), "code")
            queries = ids.withColumn("v", F.array(F.lit(1.0)))
            long = rows.where("id = 2")
            calls = (
                lambda ids=ids: pairs(ids, max_distance=3),
                lambda ids=ids: dedup(ids, code="code", max_distance=3),
                lambda ids=ids, long=long: dedup(long, code="code", against=ids, max_distance=3),
                lambda queries=queries: nearest(spark, there, queries, vector="v"),
            )
            for call in calls:  # before any stage
                with mock.patch.object(Checkpoint, "keep"), self.assertRaisesRegex(TypeError, f"got {re.escape(kind)}"):
                    call()

    def test_a_call_goes_on_from_its_checkpoint_which_is_freed(self):
        rows = spark.createDataFrame([(i, code) for i, code in enumerate(codes("half equal"))], "id long, code binary")
        path = f"{folder.name}/stages"
        with self.assertRaisesRegex(RuntimeError, "the plan is lost"), Checkpoint(spark, path) as checkpoint:
            first = dedup(rows, code="code", max_distance=3, checkpoint=checkpoint)
            expected = digest(map(tuple, first.collect()))
            raise RuntimeError("the plan is lost")
        stages = sorted(os.listdir(path))
        times = {one: os.stat(f"{path}/{one}").st_mtime_ns for one in stages}
        shutil.rmtree(f"{path}/{stages.pop()}")  # the mark of the last stage, as after a kill
        said = []
        with Checkpoint(spark, path, lambda *stage: said.append(stage)) as checkpoint:
            other = dedup(rows, code="code", max_distance=25, checkpoint=Checkpoint(spark, path))
            self.assertNotEqual(digest(map(tuple, other.collect())), expected)
            again = dedup(rows, code="code", max_distance=3, checkpoint=checkpoint)
            self.assertEqual(digest(map(tuple, again.collect())), expected)
            made = {one for one in stages if os.stat(f"{path}/{one}").st_mtime_ns != times[one]}
            self.assertEqual(made, {stages[-1]})
            self.assertEqual(said[:2], [("dedup", "codes"), ("dedup", "packed codes")])
        self.assertFalse(os.path.exists(path))
        kept = f"{folder.name}/kept"
        spark.sparkContext.setCheckpointDir(kept)
        try:
            with Checkpoint(spark) as checkpoint:
                dedup(rows, code="code", max_distance=3, checkpoint=checkpoint)
                self.assertGreater(len(list(pathlib.Path(kept).glob("*/halfspace-*/*.mark"))), 3)
            self.assertEqual(list(pathlib.Path(kept).glob("*/halfspace-*")), [])
        finally:
            spark.sparkContext.setCheckpointDir(f"{folder.name}/checkpoints")

    def test_similarity_joins_like_those_of_minhash(self):
        draw = np.random.default_rng(5)
        vectors = draw.normal(size=(120, 16))
        vectors[60:] = vectors[:60] + 0.05 * draw.normal(size=(60, 16))
        rows = spark.createDataFrame(list(enumerate(vectors.tolist())), "id long, v array<double>")
        model = SimHashModel("v", "bits", bits=256)
        self.assertEqual(len(model.transform(rows).first()["bits"]), 32)
        found = model.approxSimilarityJoin(rows.where("id < 60"), rows.where("id >= 60"), 0.95).collect()
        self.assertEqual({(row["id_a"], row["id_b"]) for row in found}, {(i, i + 60) for i in range(60)})
        self.assertGreaterEqual(min(row["similarity"] for row in found), 0.95)
        self.assertEqual(model.approxSimilarityJoin(rows, rows, 0.95).count(), 60)

    def test_full_disks_fail_the_job_and_leave_no_index(self):
        if not disks:
            self.skipTest("THE FULL DISK WAS NOT TESTED: no disk can be mounted here")
        shuffled, temporary = disks
        draw = np.random.default_rng(6)
        vectors = draw.normal(size=(2000, 16)).tolist()
        rows = spark.createDataFrame(list(enumerate(vectors)), "id long, v array<double>").repartition(2)
        hashed = fingerprint(rows, "v", bits=64)
        near = pairs(hashed, max_distance=8)
        expected = digest(map(tuple, near.collect()))
        path = f"{folder.name}/full.hs"
        there = f"{folder.name}/there.hs"
        build_index(rows, there, vector="v", vectors="float32", segments=1)
        stages = (
            (shuffled, "No space left on device", lambda: pairs(hashed, max_distance=8).collect()),
            # Of one task: where it fails, none is ended that would leave its folder.
            (temporary, "CommandError.*(no space left on the device|the disk has . MiB free)", lambda: build_index(rows, path, vector="v", vectors="float32", segments=1)),
        )
        for disk, sentence, work in stages:
            with self.subTest(disk=disk, sentence=sentence), full(disk), self.assertRaisesRegex(Exception, sentence):
                work()
        self.assertFalse(os.path.exists(f"{path}/manifest-000001.json"))
        self.assertEqual(digest(map(tuple, near.collect())), expected)
        with full(temporary):  # segments on a local disk are read where they are
            self.assertEqual(nearest(spark, there, rows.limit(3), vector="v", k=5).count(), 15)
        build_index(rows, path, vector="v", vectors="float32", segments=2)
        self.assertEqual(json.loads(command.run("verify", path, "--json"))["problems"], [])
        self.assertEqual(os.listdir(temporary), [])

    def test_components_of_long_chains(self):
        draw = np.random.default_rng(4)
        names = draw.permutation(40).tolist()
        chains = [names[i : i + 10] for i in range(0, 40, 10)]
        edges = [(a, b) for chain in chains for a, b in zip(chain, chain[1:])]
        near = spark.createDataFrame(edges, "id_a long, id_b long")
        expected = [(one, min(chain)) for chain in chains for one in chain]
        # Where all is one process, the executor is the driver.
        for partitions, victim in {1: "worker" if IS_SMOKE else "executor", 7: "worker"}.items():
            rounds = itertools.count()

            keep = Checkpoint.keep

            def keeping(stages, frame, stage, rounds=rounds, victim=victim, keep=keep):
                # In the first round.
                return keep(stages, killing(frame, victim) if next(rounds) == 1 else frame, stage)

            with self.subTest(partitions=partitions), mock.patch.object(Checkpoint, "keep", keeping):
                found = components(near.repartition(partitions), task_pairs=10).collect()
                self.assertEqual(digest(map(tuple, found)), digest(expected))
                self.assertGreater(next(rounds), 3)

    def test_no_rows_give_no_rows(self):
        rows = spark.createDataFrame([], "id long, v array<float>, t string")
        queries = spark.createDataFrame([(1, [1.0, 2.0])], "id long, v array<float>")
        path = f"{folder.name}/none.hs"
        with self.assertRaisesRegex(ValueError, "no rows"):
            build_index(rows, path, vector="v")
        with self.assertRaisesRegex(FileNotFoundError, "none.hs holds no index"):
            nearest(spark, path, queries, vector="v")
        none = fingerprint(rows.select("id", "v"), "v", bits=64)
        plan = dedup(rows, text="t", max_distance=3)
        for found in (none, pairs(none, max_distance=3), plan):
            self.assertEqual(found.collect(), [])

    def test_the_nearest_rows_over_shards_are_those_of_one_index_with_ties_by_id(self):
        # Whole numbers: many rows at equal cosines and other distances, and many at equal distances.
        draw = np.random.default_rng(6)
        vectors = draw.integers(-1, 2, size=(160, 4)).astype(np.float32)
        vectors[(vectors == 0).all(axis=1)] = 1
        kinds = [f"{'abc'[i % 3]}{['', chr(0xFFEE), chr(0x1F600)][i % 5 % 3]}{i}" for i in range(160)]
        table = [(one, vector.tolist()) for one, vector in zip(kinds, vectors)]
        rows = spark.createDataFrame(table, "id string, v array<float>")
        queries = spark.createDataFrame(table[:30], "id string, v array<float>")
        with tempfile.TemporaryDirectory() as folder:
            lines = [json.dumps({"id": one, "v": vector}) for one, vector in table]
            for name, of in (("rows", [line for _, line in sorted(zip(kinds, lines))]), ("queries", lines[:30])):
                pathlib.Path(folder, f"{name}.jsonl").write_text("\n".join(of))
            command.run("index", f"{folder}/rows.jsonl", "--vectors", "float32", "--bits", "64", "-q", "-o", f"{folder}/one.hs")
            paths = {}
            victims = {**PARTITIONS, 24: "child"}
            for shards, victim in victims.items():
                paths[shards] = str(pathlib.Path(folder, f"docs-{shards}.hs"))
                with fault("index", victim):
                    build_index(rows, paths[shards], vector="v", vectors="float32", bits=64, segments=shards)
                index = json.loads(pathlib.Path(paths[shards], "manifest-000001.json").read_text())
                segments = len(index["segments"])
                self.assertEqual((index["rows"], segments), (160, shards))
            expected = {}
            for rank in ("exact", "hamming"):
                words = ["-k", "20", "-q", *(["--by-distance"] if rank == "hamming" else [])]
                printed = command.run("search", f"{folder}/one.hs", f"{folder}/queries.jsonl", *words)
                one = [json.loads(line) for line in printed.decode().splitlines()]
                expected[rank] = digest((row["query"], row["rank"], row["id"], row.get("distance")) for row in one)
            self.assertNotEqual(expected["exact"], expected["hamming"])
            for shards, victim in victims.items():
                of_rank = {
                    rank: nearest(spark, paths[shards], queries, vector="v", k=20, by_distance=rank == "hamming")
                    for rank in expected
                }
                both = of_rank["exact"].unionByName(of_rank["hamming"])
                with fault("search", victim):  # in one job, both ranks; only "exact" has cosines
                    found = both.select("query", "rank", "id", "distance", F.isnotnull("cosine")).collect()
                for rank in expected:
                    own = [tuple(row)[:4] for row in found if row[4] == (rank == "exact")]
                    self.assertEqual(digest(own), expected[rank], f"{rank}, {shards} shards")

    def test_an_index_with_a_recall_is_one_folder_that_the_command_changes(self):
        draw = np.random.default_rng(9)
        middles = draw.normal(size=(60, 16))
        vectors = (middles[draw.integers(0, 60, 5000)] + 0.5 * draw.normal(size=(5000, 16))).astype(np.float32)
        vectors[3000:3600] = vectors[:600]  # rows with equal codes
        rows = spark.createDataFrame([(i, v.tolist()) for i, v in enumerate(vectors)], "id long, v array<float>")
        unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        true = np.argsort(-(unit[:200] @ unit.T), axis=1, kind="stable")[:, :10]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "docs.hs")
            # What a task left that was tried again, and what is not of a task.
            left = {f"rows-00000{i}-0-00000000000{i}.arrow" for i in (1, 2)} | {"notes.arrow"}
            path.mkdir()
            for name in left:
                (path / name).touch()
            path = str(path)
            options = {"vector": "v", "vectors": "float32", "bits": 64, "segments": 2, "recall": 0.9}
            with fault("index", "child"):
                build_index(rows, path, **options)
            with self.assertRaisesRegex(FileExistsError, "holds an index"):
                build_index(rows, path, vector="v", segments=2)
            self.assertEqual(json.loads(command.run("verify", path, "--json"))["problems"], [])
            manifest = json.loads(pathlib.Path(path, "manifest-000001.json").read_text())
            report = manifest["index"]["report"]
            self.assertEqual((manifest["rows"], report["rows"], report["method"]), (5000, 5000, "partitions"))
            # Of all rows, by vectors that did not train the centroids: half of the one in 32 of 4,400.
            self.assertEqual((report["stale"], report["warnings"]), (False, []))
            self.assertLess(abs(report["queries"] - 4400 / 64), 25)
            parts = (manifest, *manifest["segments"])
            names = {one["name"] for part in parts for one in part["files"].values()}
            own = {name for name in os.listdir(path) if not name.startswith("manifest")} - names
            self.assertEqual(own, {"rows-000002-0-000000000002.arrow", "notes.arrow"})
            for name in own:
                os.remove(f"{path}/{name}")
            # The same where the child that measures is killed, and of any number of segments, in which
            # rows have other numbers: of candidates that look alike those of lower ones are taken.
            if not IS_SMOKE:
                for segments, killed in ((1, "--merge"), (7, "--evaluate"), (24, "--merge")):
                    again = pathlib.Path(folder, f"again-{segments}.hs")
                    together = mock.patch("halfspace.spark.index.TOGETHER", 5)
                    with fault(killed, "child"), together:
                        build_index(rows, str(again), **{**options, "segments": segments})
                    other = json.loads((again / "manifest-000001.json").read_text())["index"]["report"]
                    self.assertLess(abs(other["recall"] - report["recall"]), 0.01)
                    for name in ("queries", "probes", "oversample"):
                        self.assertEqual(other[name], report[name])
            # What the report says is what searches of one machine find.
            asked = pathlib.Path(folder, "asked.jsonl")
            asked.write_text("".join(json.dumps({"id": i, "v": vectors[i].tolist()}) + "\n" for i in range(0, 5000, 20)))
            printed = command.run("search", path, str(asked), "--id", "id", "--vector", "v", "-k", "11", "-q")
            near = {}
            for line in printed.decode().splitlines():
                row = json.loads(line)
                near.setdefault(row["query"], []).append(row["id"])
            share = 0
            for i in range(0, 5000, 20):
                order = np.argsort(-(unit @ unit[i]), kind="stable")
                best = [one for one in order[:11] if one != i][:10]
                share += len({*best} & {*[one for one in near[i] if one != i][:10]}) / 2500
            self.assertLess(abs(share - report["recall"]), 0.04)
            command.run("index", path, "--remove", "7", "--remove", "8", "-q")
            more = pathlib.Path(folder, "more.jsonl")
            more.write_text("".join(json.dumps({"id": 20000 + i, "v": vectors[i].tolist()}) + "\n" for i in (1, 2)))
            command.run("index", str(more), "--id", "id", "--vector", "v", "-o", path, "--append", "-q")
            found = nearest(spark, path, rows.where("id < 200"), k=10, vector="v").collect()
            # Ids of queries may be of another kind than those of the index.
            for kind in ("int", "string"):
                asked = rows.where("id = 20").withColumn("id", F.col("id").cast(kind))
                [row] = nearest(spark, path, asked, k=1, vector="v").collect()
                self.assertEqual(row["query"], 20 if kind == "int" else "20")
                self.assertIn(row["id"], (20, 3020))  # of equal vectors
        own = {}
        for row in found:
            own.setdefault(row["query"], []).append(row["id"])
        self.assertEqual({len(one) for one in own.values()}, {10})
        self.assertIn(20001, own[1])
        self.assertNotIn(7, own[7])
        shared = sum(len({*own[query]} & {*true[query]}) for query in range(20, 200))
        self.assertGreaterEqual(shared, 0.9 * 1800)

    def test_ids_that_are_there_twice_make_no_index(self):
        rows = spark.createDataFrame([(1, [1.0, 2.0]), (2, [2.0, 1.0]), (1, [2.0, 2.0])], "id long, v array<float>")
        with self.assertRaisesRegex(ValueError, "the id 1 2 times"):
            build_index(rows, f"{folder.name}/twice.hs", vector="v", segments=2)
        self.assertFalse(os.path.exists(f"{folder.name}/twice.hs"))


#: Of a program that `spark-submit --archives` runs where no worker has the package installed.
ARCHIVED = """
import sys
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.archives", sys.argv[1] + "#lib")
spark = builder.config("spark.executorEnv.PYTHONPATH", "lib").config("spark.ui.enabled", "false").getOrCreate()
sys.path.append(sys.argv[2])
from halfspace.spark import doctor, pairs
rows = spark.createDataFrame([(1, 5), (2, 7)], "id long, code long")
print(doctor(spark, 4).first()["problem"], pairs(rows, max_distance=1).count())
spark.stop()
"""


@unittest.skipIf(IS_SMOKE, "a cluster of its own")
class Archived(unittest.TestCase):
    def test_the_package_comes_to_workers_in_an_archive(self):
        with tempfile.TemporaryDirectory() as folder:
            package = pathlib.Path(command.__file__).parent
            shutil.copytree(package, f"{folder}/lib/halfspace", ignore=shutil.ignore_patterns("__pycache__"))
            shutil.make_archive(f"{folder}/zipped", "zip", f"{folder}/lib")
            environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "HALFSPACE_COMMAND")}
            words = [sys.executable, "-W", "ignore", "-c", ARCHIVED, f"{folder}/zipped.zip", f"{folder}/lib"]
            made = subprocess.run(words, env=environment, cwd=folder, capture_output=True, text=True)
        self.assertEqual(made.stdout.split()[-2:], ["None", "1"], made.stderr[-2000:])


class Refused(unittest.TestCase):
    def test_options_that_dedup_does_not_use(self):
        # With ready codes further options were ignored without a word.
        with self.assertRaisesRegex(ValueError, "leave out tokens, seed"):
            dedup(None, code="code", max_distance=3, tokens="words", seed=7)


if __name__ == "__main__":
    unittest.main()
