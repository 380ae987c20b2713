"""What a call has computed and reads again, kept until it is freed."""

from __future__ import annotations

import json
import logging
import uuid
import zlib
from collections.abc import Callable
from typing import Any

from pyspark import StorageLevel, __version__
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from .travel import is_classic

log = logging.getLogger(__name__)


class Checkpoint:
    """The stages of calls: Parquet tables in a folder of Spark's, without a path in one of the checkpoint
    directory; where Spark has none, in executors. A call that failed goes on behind its last whole stage
    when the same program gives it the same path, options and rows; that the rows are the same is the
    caller's word.

    >>> with Checkpoint(spark, "s3a://bucket/run-7") as checkpoint:
    ...     plan = dedup(pages, text="body", max_distance=3, checkpoint=checkpoint)
    ...     plan.write.parquet("s3a://bucket/plan")

    The end of the block frees the stages, but not after an error with a path. `on_stage` is called
    with the name of the call and of the stage when one begins; by default it logs them.
    """

    def __init__(
        self,
        spark: SparkSession,
        path: str | None = None,
        on_stage: Callable[[str, str], object] = lambda *names: log.info("%s: %s", *names),
    ) -> None:
        self._spark, self._on_stage = spark, on_stage
        self._context = spark.sparkContext if is_classic(spark) else None
        context = self._context
        place = context.getCheckpointDir() if context else spark.conf.get("spark.checkpoint.dir", None)
        self._path = path or (place and f"{place}/halfspace-{uuid.uuid4().hex}")
        self._outlives_errors = path is not None
        self._count, self._verb, self._call = 0, "halfspace", ""
        self._kept: list[Any] = []

    def begin(self, verb: str, **options: object) -> None:
        """Begins a call; its stages are those of an earlier one only if its options are."""
        self._verb, self._call = verb, json.dumps([verb, options], default=str, sort_keys=True)

    def keep(
        self, frame: DataFrame, stage: str, read: Callable[[DataFrame], Any] = lambda kept: kept.count()
    ) -> tuple[DataFrame, Any]:
        """The rows of a frame, computed once, and what `read` has of them all: their number. Jobs are
        described by the stage."""
        self._count += 1
        self._on_stage(self._verb, stage)
        context = self._context
        before = context.getLocalProperty("spark.job.description") if context else None
        if context:
            context.setJobDescription(f"halfspace {self._verb}: {stage}")
        try:
            kept = self._stored(frame, stage) if self._path else self._in_executors(frame)
            return kept, read(kept)
        finally:
            if context:
                context.setLocalProperty("spark.job.description", before)  # type: ignore[arg-type]

    def free(self) -> None:
        """Deletes the stages: frames that read them can no longer be used."""
        for rdd in self._kept:
            rdd.unpersist(False)
        self._kept.clear()
        if self._path and self._context:
            jvm: Any = self._spark._jvm
            place = jvm.org.apache.hadoop.fs.Path(self._path)
            place.getFileSystem(self._context._jsc.hadoopConfiguration()).delete(place, True)
        elif self._path:
            log.warning("delete %s yourself: Spark Connect has no call for it", self._path)

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is None or not self._outlives_errors:
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

    def _in_executors(self, frame: DataFrame) -> DataFrame:
        """Where Spark has no checkpoint directory; a loss of executors fails a job. The first job that reads
        the frame computes it."""
        # Spark 3.5 holds each once.
        twice: Any = {"storageLevel": StorageLevel.MEMORY_AND_DISK_2} if __version__ >= "4" else {}
        kept = frame.localCheckpoint(False, **twice)
        if self._context:
            plan: Any = kept
            self._kept.append(plan._jdf.queryExecution().logical().rdd())
        return kept
