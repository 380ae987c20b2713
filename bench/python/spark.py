"""What Spark costs, in CPU seconds of all processes, against the command alone on the same rows.

CPU seconds and their ratios hold on a busy machine too; wall time does not. Every answer is compared
with that of the command. Arguments: cases and rows, as `fingerprint pairs=10000000`; see CASES.
"""

import collections
import contextlib
import itertools
import json
import os
import pathlib
import shutil
import statistics
import sys
import tempfile
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.ml.feature import HashingTF, MinHashLSH, NGram, Tokenizer
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from halfspace import command
from halfspace.spark import dedup, fingerprint, pairs

TICK = os.sysconf("SC_CLK_TCK")
BATCH = 100_000


def cpu_seconds():
    """User and system time of this process, of its ended children and of those that run."""
    family = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended: its time is its parent's
        family[int(stat.parent.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    own = {os.getpid()}
    while more := {one for one, (parent, _) in family.items() if parent in own} - own:
        own |= more
    return sum(family[one][1] for one in own) / TICK


def measured(work):
    """What some work gives, and its CPU seconds."""
    before = cpu_seconds()
    return work(), cpu_seconds() - before


def written(folder, name, batches):
    """The same rows as Parquet files, which Spark reads, and as one stream, which the command does."""
    path = pathlib.Path(folder, name)
    path.mkdir()
    writer = None
    for number, batch in enumerate(batches):
        if writer is None:
            writer = pa.ipc.new_stream(f"{path}.arrows", batch.schema)
        writer.write_batch(batch)
        pq.write_table(pa.Table.from_batches([batch]), path / f"{number:04}.parquet")
    writer.close()
    return str(path), f"{path}.arrows"


def vectors(rows):
    draw = np.random.default_rng(1)
    for start in range(0, rows, BATCH):
        count = min(BATCH, rows - start)
        values = pa.array(draw.standard_normal(count * 100, np.float32))
        offsets = pa.array(np.arange(0, count * 100 + 1, 100, np.int32))
        ids = pa.array(np.arange(start, start + count))
        yield pa.record_batch({"id": ids, "v": pa.ListArray.from_arrays(offsets, values)})


def codes(rows):
    """Uniform codes of 64 bits; every tenth row is another with 0 to 3 bits changed."""
    draw = np.random.default_rng(2)
    made = draw.integers(0, 2**64, rows, np.uint64)
    near = np.arange(0, rows, 10)
    made[near] = made[draw.integers(0, rows, len(near))]
    for _ in range(3):
        bit = np.uint64(1) << draw.integers(0, 64, len(near), np.uint64)
        made[near] ^= bit * draw.integers(0, 2, len(near), np.uint64)
    for start in range(0, rows, BATCH):
        of_batch = made[start : start + BATCH].view(np.int64)
        yield pa.record_batch({"id": pa.array(np.arange(start, start + len(of_batch))), "code": of_batch})


def texts(rows):
    """Texts of 60 words, which are as rare as those of languages: the n-th most frequent by 1/n. Every
    tenth text is another with up to 5 words changed."""
    draw = np.random.default_rng(3)
    ends = np.cumsum(1 / np.arange(1, 50_001))
    words = lambda *shape: np.searchsorted(ends, draw.random(shape) * ends[-1])  # noqa: E731
    made = words(rows, 60)
    near = np.arange(0, rows - 9, 10)
    made[near] = made[near + draw.integers(1, 10, len(near))]
    for _ in range(5):
        made[near, draw.integers(0, 60, len(near))] = words(len(near))
    for start in range(0, rows, BATCH):
        bodies = [" ".join(map(str, of_text)) for of_text in made[start : start + BATCH].tolist()]
        yield pa.record_batch({"id": pa.array(np.arange(start, start + len(bodies))), "body": bodies})


def digest(frame, *names):
    """Rows and a sum of hashes, whatever their order."""
    return tuple(frame.agg(F.count("*"), F.sum(F.xxhash64(*names).cast("decimal(38)"))).first())


def digest_of(spark, path, names, changed=lambda frame: frame):
    return digest(changed(spark.read.parquet(path)), *names)


def bench_fingerprint(spark, folder, rows=500_000):
    table, stream = written(folder, "vectors", vectors(rows))
    out = f"{folder}/codes.parquet"
    words = ["fingerprint", stream, "--vector", "v", "--bits", "256", "-q", "--force", "-o", out]
    read = spark.read.parquet(table)
    frame = fingerprint(read, "v", bits=256)
    ways = (
        lambda: command.run(*words),
        lambda: frame.write.format("noop").mode("overwrite").save(),
        lambda: read.mapInArrow(echo, "id long, code binary").write.format("noop").mode("overwrite").save(),
    )
    alone, on_spark, there_and_back = in_turns(ways)
    expected = digest_of(spark, out, ["id", "code"])
    if digest(frame, "id", "code") != expected:
        raise AssertionError("codes differ from those of the command")
    line(f"fingerprint {rows:,} x 100", alone, on_spark, f"without a child {there_and_back / alone:.2f} x")


def in_turns(ways, rounds=2):
    """The least CPU seconds of each: compilers and other work on the machine only add to it."""
    return [min(one) for one in zip(*([measured(way)[1] for way in ways] for _ in range(rounds)))]


def echo(batches):
    """As many bytes in place of vectors as codes have."""
    for one in batches:
        codes = pa.array([b"0" * 32] * len(one), pa.binary())
        yield pa.RecordBatch.from_arrays([one.column("id"), codes], ["id", "code"])


def bench_pairs(spark, folder, rows=1_000_000, cells=24):
    table, stream = written(folder, f"codes{rows}", codes(rows))
    out = f"{folder}/pairs{rows}.parquet"
    words = ["pairs", stream, "--code", "code", "--bits", "64", "--max-distance", "3"]
    _, alone = measured(lambda: command.run(*words, "-q", "-o", out))
    before = len(tasks_ended(spark))
    near = lambda: pairs(spark.read.parquet(table), max_distance=3, cell_rows=4 * 10_000_000 // cells)  # noqa: E731
    found, on_spark = measured(lambda: digest(near(), "id_a", "id_b", "distance"))
    shuffled = sum(of_task[2] for of_task in tasks_ended(spark)[before:])
    ordered = lambda made: made.select(  # noqa: E731
        F.least("id_a", "id_b").alias("id_a"), F.greatest("id_a", "id_b").alias("id_b"), F.col("distance").cast("int")
    )
    expected = digest_of(spark, out, ["id_a", "id_b", "distance"], ordered)
    if found != expected:
        raise AssertionError(f"pairs {found} expected {expected}")
    line(f"pairs {rows:,}", alone, on_spark, f"{found[0]:,} pairs, {shuffled / 1e6:,.0f} MB shuffled")


def bench_against(spark, folder, rows=1_000_000, times=30):
    """A day of new codes against kept ones."""
    new, new_stream = written(folder, "new", itertools.islice(codes((times + 1) * rows), -(-rows // BATCH)))
    kept, stream = written(folder, "kept", itertools.islice(codes((times + 1) * rows), -(-rows // BATCH), None))
    command.run("index", stream, "--code", "code", "--bits", "64", "--id", "id", "-q", "-o", f"{folder}/kept.hs")
    words = ["dedup", new_stream, "--code", "code", "--bits", "64", "--against", f"{folder}/kept.hs"]
    out = f"{folder}/plan.arrow"
    _, alone = measured(lambda: command.run(*words, "--max-distance", "3", "-q", "-o", out))
    before = len(tasks_ended(spark))
    plan = lambda: dedup(spark.read.parquet(new), code="code", against=spark.read.parquet(kept), max_distance=3)  # noqa: E731
    found, on_spark = measured(lambda: digest(plan().where("action = 'drop'"), "id", "distance"))
    shuffled = sum(of_task[2] for of_task in tasks_ended(spark)[before:])
    pq.write_table(pa.ipc.open_file(out).read_all(), f"{out}.parquet")
    dropped = lambda made: made.where("action = 'drop'").selectExpr("id", "cast(distance as int)")  # noqa: E731
    expected = digest_of(spark, f"{out}.parquet", ["id", "distance"], dropped)
    if found != expected:
        raise AssertionError(f"plan {found} expected {expected}")
    line(f"{rows:,} against {times * rows:,}", alone, on_spark, f"{found[0]:,} go, {shuffled / 1e6:,.0f} MB shuffled")


def bench_chain(spark, folder, rows=3_000_000):
    """One component of all rows, of which a task takes a tenth: each code is the one before with 3 bits changed."""
    draw = np.random.default_rng(4)
    bits = np.array([draw.permutation(64)[:3] for _ in range(4096)], np.uint64)
    changes = np.bitwise_or.reduce(np.uint64(1) << bits, axis=1)[draw.integers(0, 4096, rows)]
    made = np.bitwise_xor.accumulate(changes).view(np.int64)
    each = (made[start : start + BATCH] for start in range(0, rows, BATCH))
    ids = itertools.count(0, BATCH)
    batches = (pa.record_batch({"id": pa.array(np.arange(at, at + len(one))), "code": one}) for at, one in zip(ids, each))
    table, stream = written(folder, "chain", batches)
    out = f"{folder}/plan.arrow"
    words = ["dedup", stream, "--code", "code", "--bits", "64", "--id", "id", "--max-distance", "3"]
    _, alone = measured(lambda: command.run(*words, "-q", "-o", out))
    plan = lambda: dedup(spark.read.parquet(table), code="code", max_distance=3, cell_rows=rows // 10)  # noqa: E731
    names = ["id", "action", "duplicate_of", "distance"]
    found, on_spark = measured(lambda: digest(plan(), *names))
    pq.write_table(pa.ipc.open_file(out).read_all(), f"{out}.parquet")
    cast = lambda made: made.selectExpr(*names[:3], "cast(distance as int)")  # noqa: E731
    if found != (expected := digest_of(spark, f"{out}.parquet", names, cast)):
        raise AssertionError(f"plan {found} expected {expected}")
    line(f"dedup of one chain of {rows:,}", alone, on_spark, "a task takes a tenth of the rows")


#: What one writes in SQL: a row for each of 4 blocks of 16 bits, joined by its value; a pair counts in
#: the first block in which it agrees.
SQL = """
WITH blocks AS (
  SELECT id, code, b, shiftright(code, 16 * b) & 65535L AS value
  FROM codes LATERAL VIEW explode(array(0, 1, 2, 3)) parts AS b),
near AS (
  SELECT x.b AS b, x.code ^ y.code AS mixed
  FROM blocks x JOIN blocks y ON x.b = y.b AND x.value = y.value AND x.id < y.id
  WHERE bit_count(x.code ^ y.code) <= 3)
SELECT count(*) FROM near
WHERE (b < 1 OR (mixed & 65535L) <> 0) AND (b < 2 OR (shiftright(mixed, 16) & 65535L) <> 0)
  AND (b < 3 OR (shiftright(mixed, 32) & 65535L) <> 0)"""


def bench_sql(spark, folder, rows=1_000_000):
    table, _ = written(folder, f"sql{rows}", codes(rows))
    spark.read.parquet(table).createOrReplaceTempView("codes")
    found, cpu = measured(lambda: spark.sql(SQL).first()[0])
    ours, on_spark = measured(lambda: pairs(spark.read.parquet(table), max_distance=3).count())
    if ours != found:
        raise AssertionError(f"{ours} pairs, SQL finds {found}")
    line(f"pairs {rows:,} by Spark SQL", on_spark, cpu, "against ours")


def bench_minhash(spark, folder, rows=50_000):
    """Texts of which 7 in 10 pairs of words are the same, by the join of Spark itself."""
    table, _ = written(folder, f"texts{rows}", texts(rows))
    read = spark.read.parquet(table)
    near = lambda: pairs(read, text="body", bits=128, max_distance=30, min_jaccard=0.7).count()  # noqa: E731
    near()  # so that neither pays for the start of the session
    ours, on_spark = measured(near)

    def of_spark():
        words = NGram(inputCol="words").transform(Tokenizer(inputCol="body", outputCol="words").transform(read))
        hashing = HashingTF(inputCol=words.columns[-1], outputCol="set", numFeatures=1 << 20, binary=True)
        sets = hashing.transform(words).select("id", "set")
        model = MinHashLSH(inputCol="set", outputCol="hashes", numHashTables=5, seed=1).fit(sets)
        return model.approxSimilarityJoin(sets, sets, 0.3).where("datasetA.id < datasetB.id").count()

    found, theirs = measured(of_spark)
    line(f"{rows:,} texts by MinHashLSH", on_spark, theirs, f"against ours; {found:,} and {ours:,} pairs")


def bench_skew(spark, folder, rows=10_000_000):
    """Half of the rows share a block: the times of the tasks that join cells, and their memory."""
    made = (half_share_a_block(batch) for batch in codes(rows))
    table, _ = written(folder, "skewed", made)
    before = len(tasks_ended(spark))
    peak, stop = [0], threading.Event()
    watch = threading.Thread(target=watch_memory, args=(peak, stop))
    watch.start()
    near = lambda: pairs(spark.read.parquet(table), max_distance=3, cell_rows=4 * rows // 24)  # noqa: E731
    found, cpu = measured(lambda: near().count())
    stop.set()
    watch.join()
    ended = tasks_ended(spark)[before:]
    spent = collections.Counter()
    for stage, ms, _ in ended:
        spent[stage] += ms
    joins = spent.most_common(1)[0][0]
    times = [ms / 1000 for stage, ms, _ in ended if stage == joins]
    print(
        f"| skew, {rows:,} rows, {len(times)} cells | {found:,} pairs | {cpu:.1f} | "
        f"{max(times) / statistics.median(times):.2f} x the median of {statistics.median(times):.1f} s | "
        f"{peak[0] / 2**20:,.0f} MB a task |",
        flush=True,
    )


def half_share_a_block(batch):
    made = np.asarray(batch.column("code")).copy()
    made[::2] &= ~0xFFFF
    return batch.set_column(1, "code", pa.array(made))


def tasks_ended(spark):
    """Stage, milliseconds and shuffled bytes of every task that has ended, by Spark's log of events."""
    found = []
    for path in pathlib.Path(spark.conf.get("spark.eventLog.dir").removeprefix("file:")).rglob("*"):
        for line in path.read_text().splitlines() if path.is_file() else ():
            event = json.loads(line) if line.startswith("{") else {}
            if event.get("Event") == "SparkListenerTaskEnd":
                of_task = event["Task Metrics"]
                shuffled = of_task["Shuffle Write Metrics"]["Shuffle Bytes Written"]
                found.append((event["Stage ID"], of_task["Executor Run Time"], shuffled))
    return found


def watch_memory(peak, stop):
    """The most memory that a child and its worker had together."""
    while not stop.wait(0.1):
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError, IndexError):
                if str(command.BUNDLE).encode() in path.read_bytes():
                    parent = path.with_name("stat").read_text().rsplit(")", 1)[1].split()[1]
                    peak[0] = max(peak[0], most_memory(path.parent) + most_memory(pathlib.Path("/proc", parent)))


def most_memory(process):
    lines = (process / "status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def bench_start(spark, folder, count=20):
    """A child that gets one row: what a task costs before its rows do."""
    one = next(codes(1))
    words = ["fingerprint", "-", "-q", "--code", "code"]
    seconds = []
    for _ in range(count):
        _, cpu = measured(lambda: list(command.stream(words, [one])))
        seconds.append(cpu)
    print(f"| child start and stop | median {statistics.median(seconds):.2f} CPU s | | |", flush=True)


def line(name, alone, on_spark, note):
    print(f"| {name} | {alone:.1f} | {on_spark:.1f} | {on_spark / alone:.2f} x | {note} |", flush=True)


CASES = {
    "start": bench_start,
    "fingerprint": bench_fingerprint,
    "pairs": bench_pairs,
    "against": bench_against,
    "chain": bench_chain,
    "sql": bench_sql,
    "minhash": bench_minhash,
    "skew": bench_skew,
}


def main(named):
    builder = SparkSession.builder.master("local[2]").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.driver.memory", "2g").config("spark.sql.shuffle.partitions", "8")
    builder = builder.config("spark.ui.enabled", "false")
    events = tempfile.mkdtemp()
    builder = builder.config("spark.eventLog.enabled", "true").config("spark.eventLog.dir", f"file:{events}")
    spark = builder.config("spark.eventLog.compress", "false").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    print("| case | the command, CPU s | on Spark, CPU s | ratio | |\n| --- | --- | --- | --- | --- |")
    for one in named or CASES:
        name, _, rows = one.partition("=")
        with tempfile.TemporaryDirectory() as folder:
            CASES[name](spark, folder, *([int(rows)] if rows else []))
    spark.stop()
    shutil.rmtree(events)


if __name__ == "__main__":
    main(sys.argv[1:])
