"""The files of an index where Spark's paths say: on a local disk, or on a file system of Hadoop.

Only tasks touch files: Spark Connect gives the driver no JVM. A task's Python has none either, so for
a path that is not local its worker starts a small one with the jars of Spark and of the job, where
Hadoop's own file systems run with the driver's configuration, and so with its credentials.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import secrets
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from pyspark import SparkFiles
from pyspark.sql import SparkSession

from .travel import Batches, blobs, is_classic, one_row

HADOOP = "spark.hadoop."
#: A JVM that only moves bytes, where the address space may be limited, as for the worker's Python.
JAVA_OPTIONS = ["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:CompressedClassSpaceSize=64m"]


class Storage:
    """A folder at a path of Spark's: `s3a:`, `abfss:`, `hdfs:`, `file:`, a relative one. `dbfs:` is
    mounted on the machines of a cluster, and local there."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark: SparkSession | None = spark
        self._settings, path = _hadoop(spark, path)
        kind, colon, rest = path.partition(":")
        rest = rest if colon else path
        #: The folder of a local disk; None where Hadoop reads it.
        self.local: str | None = None
        if not colon or kind == "file":
            self.local = os.path.abspath(re.sub("^/+", "/", rest))
        elif kind == "dbfs":
            self.local = re.sub("^/dbfs/(?=Volumes/)", "/", f"/dbfs/{rest.lstrip('/')}")
        self.path = self.local or path

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_spark": None}

    def in_tasks(self, tasks: int, work: Callable[[int], Iterable[bytes]]) -> list[bytes]:
        """What `work`, which reads or writes files, gives in tasks, by their numbers from 0 on."""

        def run(batches: Batches) -> Batches:
            for number in (number for batch in batches for number in batch.column("id").to_pylist()):
                yield from (one_row(value=value) for value in work(number))

        assert self._spark is not None
        return blobs(self._spark.range(0, tasks, 1, tasks).mapInArrow(run, "value binary"))

    def names(self) -> list[str]:
        """The names of the files; none where there is no folder."""
        if self.local is not None:
            return os.listdir(self.local) if os.path.isdir(self.local) else []
        files, folder = self.at()
        return [one.getPath().getName() for one in files.listStatus(folder)] if files.exists(folder) else []

    def read(self, name: str, at: int = 0, end: int | None = None) -> bytes:
        """Bytes `at` to `end - 1` of a file, or all."""
        if self.local is not None:
            return Path(self.local, name).read_bytes()[at:end]
        files, path = self.at(name)
        with contextlib.closing(files.open(path)) as stream:
            stream.seek(at)
            counted = [] if end is None else [end - at]
            return bytes(_jvm().org.apache.commons.io.IOUtils.toByteArray(stream, *counted))

    def bring(self, name: str, path: str) -> None:
        """A file at a path of this machine: a copy, or a link to one of a local disk."""
        if self.local is not None:
            os.symlink(f"{self.local}/{name}", path)
        else:
            files, there = self.at(name)
            files.copyToLocalFile(False, there, _jvm().org.apache.hadoop.fs.Path(path), True)

    def put(self, path: str, name: str) -> None:
        """Copies a file of this machine."""
        if self.local is not None:
            os.makedirs(self.local, exist_ok=True)
            shutil.copyfile(path, f"{self.local}/{name}")
        else:  # by a stream: `copyFromLocalFile` needs more than some hosts know
            files, there = self.at(name)
            own = _jvm().java.io.FileInputStream(path)
            _jvm().org.apache.hadoop.io.IOUtils.copyBytes(own, files.create(there, True), 1 << 16, True)

    def publish(self, path: str, name: str) -> None:
        """Copies a file, which is there whole or not at all."""
        self.put(path, f"{name}.tmp")
        if self.local is not None:
            os.replace(f"{self.local}/{name}.tmp", f"{self.local}/{name}")
            return
        files, part = self.at(f"{name}.tmp")
        if not files.rename(part, self.at(name)[1]):
            raise FileExistsError(f"{self.path}/{name} was written meanwhile")

    def delete(self, name: str) -> None:
        if self.local is not None:
            os.remove(f"{self.local}/{name}")
        else:
            files, path = self.at(name)
            files.delete(path, False)

    def at(self, name: str = ".") -> tuple[Any, Any]:
        """Hadoop's file system, where the folder is not local, and its path of a file there."""
        files, folder = _opened(self.path, self._settings)
        return files, _jvm().org.apache.hadoop.fs.Path(folder, name)


@functools.lru_cache(8)
def _opened(path: str, settings: str) -> tuple[Any, Any]:
    own, folder = _jvm().org.apache.hadoop.conf.Configuration(), _jvm().org.apache.hadoop.fs.Path(path)
    own.addResource(_jvm().java.io.ByteArrayInputStream(settings.encode()))
    return folder.getFileSystem(own), folder


def _hadoop(spark: SparkSession, path: str) -> tuple[str, str]:
    """The settings of Hadoop as XML, and a path with its file system's name."""
    if not is_classic(spark):
        from xml.sax.saxutils import escape  # 40 ms, and workers import this module

        own: Any = spark.conf.getAll
        named = ((escape(key[len(HADOOP) :]), escape(own[key])) for key in own if key.startswith(HADOOP))
        made = (f"<property><name>{name}</name><value>{value}</value></property>" for name, value in named)
        return f"<configuration>{''.join(made)}</configuration>", path
    jvm: Any = spark._jvm
    settings = spark._jsparkSession.sessionState().newHadoopConf()
    writer = jvm.java.io.StringWriter()
    settings.writeXml(writer)
    place = jvm.org.apache.hadoop.fs.Path(path)
    return writer.toString(), place.getFileSystem(settings).makeQualified(place).toString()


@functools.cache
def _jvm() -> Any:
    """The JVM of this worker, which ends with it."""
    from py4j.java_gateway import JavaGateway
    from pyspark.find_spark_home import _find_spark_home

    home = _find_spark_home()
    [jar] = Path(home, "jars").glob("py4j-*.jar")
    # The jars of the job are in the folder of its files.
    places = [f"{home}/jars/*", f"{SparkFiles.getRootDirectory()}/*"]
    places += [os.environ.get(name, "") for name in ("HADOOP_CONF_DIR", "SPARK_DIST_CLASSPATH", "CLASSPATH")]
    how = {"jarpath": str(jar), "classpath": ":".join(filter(None, places)), "javaopts": JAVA_OPTIONS}
    return JavaGateway.launch_gateway(**how, die_on_exit=True, java_path=None, enable_auth=True).jvm


@contextlib.contextmanager
def served(storage: Storage, manifest: bytes) -> Iterator[list[str]]:
    """Options by which a child reads an index that is not on a local disk: a host of this process has its
    ranges. These stay in the executor's folder while a quarter of its disk is free, since the files of
    an index never change."""
    if storage.local is not None:
        yield []
        return
    # Each worker of Python imports this module, and few need a host: 40 ms.
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    storage.at()  # the JVM is there before threads want it
    secret = secrets.token_hex(16)
    kept = Path(SparkFiles.getRootDirectory(), "halfspace-ranges")
    kept.mkdir(exist_ok=True)

    def ranged(name: str, at: int, end: int) -> bytes:
        known = kept / f"{name}-{at}-{end}"
        if known.exists():
            return known.read_bytes()
        data = storage.read(name, at, end)
        disk = shutil.disk_usage(kept)
        if disk.free > disk.total / 4:
            part = Path(f"{known}-{secrets.token_hex(4)}")
            part.write_bytes(data)
            part.rename(known)
        return data

    class Host(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked = re.fullmatch(rf"/{secret}/([\w.-]+)", self.path)
            span = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            if asked is None or (span is None) != (asked[1] == "manifest.json"):
                return self.send_error(404)
            try:
                data = ranged(asked[1], int(span[1]), int(span[2]) + 1) if span else manifest
            except Exception as problem:
                return self.send_error(424, " ".join(str(problem).split())[:500])
            self.send_response(206 if span else 200)
            if span:
                self.send_header("Content-Range", f"bytes {span[1]}-{span[2]}/*")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Host) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield ["--at", f"http://127.0.0.1:{server.server_port}/{secret}"]
        finally:
            server.shutdown()
