"""Rivals on neighbors by cosine: FAISS, hnswlib and ScaNN, each in a process that builds or searches.

Times are taken here, on one thread. Rows and queries are made unit vectors beforehand where an engine
needs it, out of the time of a search. Memory is what the process has gained since the data were loaded.
"""

import os
import time
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import pyarrow as pa
from serve import resident, serve

state = {}


def versions():
    """Those that are installed, by the name of their engines."""
    found = {}
    for name, package in (("faiss", "faiss-cpu"), ("hnswlib", "hnswlib"), ("scann", "scann")):
        try:
            found[name] = version(package)
        except PackageNotFoundError:
            pass
    return found


class Faiss:
    def __init__(self):
        import faiss

        self.faiss = faiss
        faiss.omp_set_num_threads(1)

    def save(self, path):
        self.faiss.write_index(self.index, path)

    def open(self, path, _parameters, _dimensions):
        self.index = self.faiss.read_index(path)

    def one(self, query, k):
        return self.index.search(query[None], k, params=self.parameters)[1][0]

    def many(self, queries, k):
        return self.index.search(queries, k, params=self.parameters)[1]


class FaissHnsw(Faiss):
    def build(self, rows, M, efConstruction):
        self.index = self.faiss.IndexHNSWFlat(rows.shape[1], M, self.faiss.METRIC_INNER_PRODUCT)
        self.index.hnsw.efConstruction = efConstruction
        self.index.add(rows)

    def set(self, ef):
        self.parameters = self.faiss.SearchParametersHNSW(efSearch=ef)


class FaissIvf(Faiss):
    def build(self, rows, factory):
        metric = self.faiss.METRIC_INNER_PRODUCT
        self.index = self.faiss.index_factory(rows.shape[1], factory, metric)
        self.index.train(rows)
        self.index.add(rows)

    def set(self, nprobe, k_factor):
        inner = self.faiss.SearchParametersIVF(nprobe=nprobe)
        self.parameters = self.faiss.IndexRefineSearchParameters(
            k_factor=k_factor, base_index_params=inner
        )
        self.inner = inner  # FAISS holds no reference to it


class Hnswlib:
    """Reads the file of hnswlib-node, which has the same format."""

    def open(self, path, _parameters, dimensions):
        import hnswlib

        self.index = hnswlib.Index(space="cosine", dim=dimensions)
        self.index.load_index(path)
        self.index.set_num_threads(1)

    def set(self, ef):
        self.index.set_ef(ef)

    def one(self, query, k):
        return self.index.knn_query(query, k, num_threads=1)[0][0]

    def many(self, queries, k):
        return self.index.knn_query(queries, k, num_threads=1)[0]


class Scann:
    def __init__(self):
        from scann.scann_ops.py import scann_ops_pybind

        self.scann = scann_ops_pybind

    def build(self, rows, leaves, soar, dimensionsPerBlock):
        self.index = (
            self.scann.builder(rows, 10, "dot_product")
            .tree(
                num_leaves=leaves,
                num_leaves_to_search=leaves // 20,
                training_sample_size=min(len(rows), 250_000),
                soar_lambda=soar,
            )
            .score_ah(dimensionsPerBlock, anisotropic_quantization_threshold=0.2)
            .reorder(100)
            .build()
        )

    def save(self, path):
        os.makedirs(path, exist_ok=True)
        self.index.serialize(path, relative_path=True)

    def open(self, path, _parameters, _dimensions):
        self.index = self.scann.load_searcher(path)

    def set(self, leaves, reorder):
        self.options = {"leaves_to_search": leaves, "pre_reorder_num_neighbors": reorder}

    def one(self, query, k):
        return self.index.search(query, k, **self.options)[0]

    def many(self, queries, k):
        return self.index.search_batched(queries, k, **self.options)[0]


ENGINES = {"faiss_hnsw": FaissHnsw, "faiss_ivf": FaissIvf, "hnswlib": Hnswlib, "scann": Scann}


def unit_rows(path):
    column = pa.ipc.open_file(pa.memory_map(path)).read_all().column("vector").combine_chunks()
    rows = column.values.to_numpy().reshape(len(column), -1).copy()
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    return (rows / lengths).astype(np.float32)


def true_rows(path, k):
    column = pa.ipc.open_file(pa.memory_map(path)).read_all().column("rows").combine_chunks()
    return column.values.to_numpy().reshape(len(column), -1)[:, :k]


def build(engine, parameters, train, path):
    rows = unit_rows(train)
    made = ENGINES[engine]()
    before = resident()
    start, start_cpu = time.perf_counter(), time.process_time()
    made.build(rows, **parameters)
    seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    size = resident() - before
    made.save(path)
    return {"seconds": seconds, "cpuSeconds": cpu, "bytes": size}


def open(engine, parameters, queries, truth, path, k):
    state["queries"] = unit_rows(queries)
    state["truth"] = true_rows(truth, k)
    state["k"] = k
    state["engine"] = ENGINES[engine]()
    before = resident()
    start = time.perf_counter()
    state["engine"].open(path, parameters, state["queries"].shape[1])
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "bytes": resident() - before}


def search(effort, isBatch, first, count):
    """Speed of `count` queries from the `first` on, one by one, or of all in one call; recall."""
    engine, queries, truth, k = (state[name] for name in ("engine", "queries", "truth", "k"))
    engine.set(**effort)
    if not isBatch:
        queries, truth = queries[first : first + count], truth[first : first + count]
    for query in queries:  # the second time counts: after the turns of others, caches are cold
        engine.one(query, k)
    start = time.perf_counter()
    found = engine.many(queries, k) if isBatch else [engine.one(query, k) for query in queries]
    seconds = time.perf_counter() - start
    hits = sum(len(np.intersect1d(rows, near)) for rows, near in zip(found, truth, strict=True))
    return {"perSecond": len(queries) / seconds, "recall": hits / truth.size}


serve((versions, build, open, search))
