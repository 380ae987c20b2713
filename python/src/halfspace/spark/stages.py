"""What a call has computed and reads again, kept until it is freed."""

from __future__ import annotations

import json
import logging
import zlib
from collections.abc import Callable
from typing import Any

from pyspark import StorageLevel, __version__
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from .travel import is_classic

log = logging.getLogger(__name__)


class Checkpoint:
    """The stages of calls: Parquet tables in a folder of Spark's, or without a path checkpoints of
    Spark. A call that failed goes on behind its last whole stage when the same program gives it the
    same path, options and rows; that the rows are the same is the caller's word.

    >>> with Checkpoint(spark, "s3a://bucket/run-7") as checkpoint:
    ...     plan = dedup(pages, text="body", max_distance=3, checkpoint=checkpoint)
    ...     plan.write.parquet("s3a://bucket/plan")

    The end of the block frees the stages, but not after an error with a path. `on_stage` is called
    with the name of the call and of the stage when one begins.
    """

    def __init__(
        self,
        spark: SparkSession,
        path: str | None = None,
        on_stage: Callable[[str, str], object] = lambda verb, stage: None,
    ) -> None:
        self._spark = spark
        self._path = path
        self._on_stage = on_stage
        self._count = 0
        self._call = ""
        self._kept: list[Any] = []

    def begin(self, verb: str, **options: object) -> None:
        """Begins a call; its stages are those of an earlier one only if its options are."""
        self._call = json.dumps([verb, options], default=str, sort_keys=True)

    def keep(
        self, frame: DataFrame, stage: str, read: Callable[[DataFrame], Any] = lambda kept: kept.count()
    ) -> tuple[DataFrame, Any]:
        """The rows of a frame, computed once, and what `read` has of them all: their number. Jobs are
        described by the stage."""
        self._count += 1
        verb = json.loads(self._call)[0] if self._call else "halfspace"
        log.info("%s: %s", verb, stage)
        self._on_stage(verb, stage)
        context = self._spark.sparkContext if is_classic(self._spark) else None
        before = context.getLocalProperty("spark.job.description") if context else None
        if context:
            context.setJobDescription(f"halfspace {verb}: {stage}")
        try:
            kept = self._stored(frame, stage) if self._path else self._in_spark(frame)
            return kept, read(kept)
        finally:
            if context:
                context.setLocalProperty("spark.job.description", before)  # type: ignore[arg-type]

    def free(self) -> None:
        """Deletes the stages: frames that read them can no longer be used."""
        for rdd in self._kept:
            rdd.unpersist(False)
            if rdd.getCheckpointFile().isDefined():
                self._delete(rdd.getCheckpointFile().get())
        self._kept.clear()
        if self._path and is_classic(self._spark):
            self._delete(self._path)
        elif self._path:
            log.warning("delete %s yourself: Spark Connect has no call for it", self._path)

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is None or self._path is None:
            self.free()

    def _stored(self, frame: DataFrame, stage: str) -> DataFrame:
        """The stage's table, written unless there is one with its mark, which is written last. Its name is
        that of the call and of its options too."""
        what = f"{self._call} {stage} {frame.schema.simpleString()}"
        table = f"{self._path}/{self._count:03}-{stage.replace(' ', '-')}-{zlib.crc32(what.encode()):08x}"
        try:
            self._spark.read.parquet(f"{table}.mark")
        except AnalysisException:  # there is none
            frame.write.mode("overwrite").parquet(table)
            self._spark.range(1).coalesce(1).write.mode("overwrite").parquet(f"{table}.mark")
        return self._spark.read.schema(frame.schema).parquet(table)

    def _in_spark(self, frame: DataFrame) -> DataFrame:
        """In the checkpoint directory where Spark has one, else in executors, whose loss fails a job: there
        the first job that reads it computes it."""
        if is_classic(self._spark):
            is_safe = self._spark.sparkContext.getCheckpointDir() is not None
        else:
            is_safe = self._spark.conf.get("spark.checkpoint.dir", None) is not None
        # Spark 3.5 holds each once.
        twice: Any = {"storageLevel": StorageLevel.MEMORY_AND_DISK_2} if __version__ >= "4" else {}
        kept = frame.checkpoint() if is_safe else frame.localCheckpoint(False, **twice)
        if is_classic(self._spark):
            plan: Any = kept
            self._kept.append(plan._jdf.queryExecution().logical().rdd())
        return kept

    def _delete(self, path: str) -> None:
        jvm: Any = self._spark._jvm
        context: Any = self._spark.sparkContext._jsc
        place = jvm.org.apache.hadoop.fs.Path(path)
        place.getFileSystem(context.hadoopConfiguration()).delete(place, True)
