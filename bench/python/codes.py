"""Rivals on codes, hashing and k-means. Times are taken here, on one thread."""

import time

import faiss
import numpy as np
import pyarrow as pa
import usearch
from serve import resident, serve
from usearch.index import MetricKind
from usearch.index import search as usearch_search

faiss.omp_set_num_threads(1)
state = {}


def timed(work):
    start = time.perf_counter()
    result = work()
    return (time.perf_counter() - start) * 1e3, result


def versions():
    modules = {"faiss": faiss, "numpy": np, "pyarrow": pa, "usearch": usearch}
    return {name: module.__version__ for name, module in modules.items()}


def codes(codes, queries, bits):
    state["codes"] = np.fromfile(codes, dtype=np.uint8).reshape(-1, bits // 8)
    state["queries"] = np.fromfile(queries, dtype=np.uint8).reshape(-1, bits // 8)
    state["flat"] = faiss.IndexBinaryFlat(bits)
    ms, _ = timed(lambda: state["flat"].add(state["codes"]))
    state.pop("multi", None)
    return {"ms": ms}


def multi_hash(tables, width):
    """Tables of the codes, by blocks of `width` bits; memory is what the process has grown by."""
    state.pop("multi", None)
    before = resident()
    state["multi"] = faiss.IndexBinaryMultiHash(8 * state["codes"].shape[1], tables, width)
    ms, _ = timed(lambda: state["multi"].add(state["codes"]))
    return {"ms": ms, "bytes": max(0, resident() - before)}


def search(engine, first, count, k, flips=0):
    queries = state["queries"][first : first + count]
    if engine == "faiss":
        ms, (distances, _) = timed(lambda: state["flat"].search(queries, k))
    elif engine == "multi":
        state["multi"].nflip = flips
        ms, (distances, _) = timed(lambda: state["multi"].search(queries, k))
    else:
        ms, found = timed(
            lambda: usearch_search(
                state["codes"], queries, k, MetricKind.Hamming, exact=True, threads=1
            )
        )
        distances = found.distances.astype(int)
    return {"ms": ms, "distances": distances.reshape(-1).tolist()}


def within(engine, first, distance, flips=0):
    """All rows within a distance of one query."""
    if engine == "multi":
        state["multi"].nflip = flips
    index = state["flat" if engine == "faiss" else "multi"]
    query = state["queries"][first : first + 1]
    # FAISS finds what is nearer than the radius, not as near.
    ms, (_, distances, rows) = timed(lambda: index.range_search(query, distance + 1))
    return {"ms": ms, "rows": rows.tolist(), "distances": distances.astype(int).tolist()}


def within_all(first, count, distance):
    """All rows within a distance of each of some queries, by the tables."""
    state["multi"].nflip = 0
    queries = state["queries"][first : first + count]
    ms, (limits, _, _) = timed(lambda: state["multi"].range_search(queries, distance + 1))
    return {"ms": ms, "found": int(limits[-1])}


def vectors(vectors, dimensions, bits, seed):
    state["vectors"] = np.fromfile(vectors, dtype=np.float32).reshape(-1, dimensions)
    ms_planes, planes = timed(
        lambda: np.random.default_rng(seed).standard_normal((dimensions, bits), dtype=np.float32)
    )
    state["planes"] = planes
    # Rotation keeps the planes orthogonal, as 'hadamard' does; seeded by FAISS itself.
    state["lsh"] = faiss.IndexLSH(dimensions, bits, True)
    return {"ms": ms_planes, "bytes": planes.nbytes}


def encode(engine, count, out=None):
    rows = state["vectors"][:count]
    if engine == "faiss":
        ms, made = timed(lambda: state["lsh"].sa_encode(rows))
    else:
        ms, made = timed(
            lambda: np.packbits(rows @ state["planes"] > 0, axis=1, bitorder="little")
        )
    if out is not None:
        made.tofile(out)
    return {"ms": ms}


def kmeans(clusters, seed):
    """Spherical k-means as FAISS does it by default; the mean cosine of all rows to their centroid."""
    rows = state["vectors"]
    made = faiss.Kmeans(rows.shape[1], clusters, spherical=True, seed=seed + 1)
    ms, _ = timed(lambda: made.train(rows))
    cosines, _ = made.index.search(rows, 1)
    return {"ms": ms, "objective": float(cosines.mean(dtype=np.float64))}


serve(
    (
        *(versions, codes, multi_hash, search, within, within_all),
        *(vectors, encode, kmeans),
    )
)
