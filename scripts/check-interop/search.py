"""Searches of an index folder, by docs/format.md alone: search.py FOLDER K ID…

Prints for each id the K rows of the largest cosine with its row, of the partitions that a search
visits, as a JSON array of {"id", "cosine"}. For folders of dense vectors without a mean.
"""

import json
import os
import re
import sys

import numpy
import pyarrow
from xxhash import xxh64_intdigest


def file_checksum(data):
    found = 0
    for at in range(0, max(1, len(data)), 2**20):
        found = xxh64_intdigest(data[at : at + 2**20], found)
    return f"{found:016x}"


class Folder:
    def __init__(self, path):
        self.path = path
        names = [name for name in os.listdir(path) if re.fullmatch(r"manifest-\d{6,}\.json", name)]
        newest = max(names, key=lambda name: int(name[9:-5]))
        with open(os.path.join(path, newest), "rb") as source:
            text = source.read()
        self.manifest = json.loads(text)
        assert (self.manifest["format"], self.manifest["version"]) == ("index folder", 12)
        head = text[: text.rindex(b' "checksum"')]
        assert file_checksum(head) == self.manifest["checksum"], "the manifest is damaged"
        self.index = self.manifest["index"]
        removed = self.manifest["files"].get("removed")
        self.removed = set(self.table(removed)["row"].to_pylist()) if removed else set()
        self.parts = [self.Part(self, one["files"]) for one in self.manifest["segments"]]

    def open(self, file):
        with open(os.path.join(self.path, file["name"]), "rb") as source:
            data = source.read()
        assert len(data) == file["bytes"] and file_checksum(data) == file["checksum"], file["name"]
        return pyarrow.ipc.open_file(data)

    def table(self, file):
        return self.open(file).read_all()

    class Part:
        """A segment; blocks are record batches."""

        def __init__(self, folder, files):
            rows = folder.table(files["rows"])
            self.vectors = folder.table(files["vectors"])
            table = folder.table(files["blocks"])
            buckets = json.loads(table.schema.metadata[b"halfspace"])["buckets"]
            self.blocks, own, first = [], [], 0
            for block in table.to_pylist()[: len(table) - buckets]:
                end = first + block["rows"] + block["copies"]
                positions = range(len(own), len(own) + block["rows"])
                if block["copies"] > 0:
                    positions = rows["position"][first:end].to_pylist()
                own += range(first, first + block["rows"])
                self.blocks.append((block["partition"], positions))
                first = end
            self.rows = rows.take(own)
            self.ids = self.rows["id" if "id" in self.rows.column_names else "row"]
            self.buckets = folder.open(files["hashes"]) if "hashes" in files else None

        def position(self, id):
            """The position of the row with this id, or None."""
            found = range(len(self.ids))
            if self.buckets is not None:
                data = id.encode() if isinstance(id, str) else id.to_bytes(8, "little", signed=True)
                hash = xxh64_intdigest(data)
                count = self.buckets.num_record_batches
                bucket = self.buckets.get_batch(hash * count >> 64).to_pydict()
                found = [at for own, at in zip(bucket["hash"], bucket["position"]) if own == hash]
            return next((at for at in found if self.ids[at].as_py() == id), None)

        def vector(self, position):
            """The held vector of a row, at length 1; a scale does not change its direction."""
            vector = numpy.array(self.vectors["vector"][position].as_py(), "f8")
            return vector / numpy.linalg.norm(vector)

    def visited(self, query):
        """The partitions that a search visits."""
        space = self.manifest["files"].get("space")
        report = self.index["report"]
        if space is None or report is None or report["method"] != "partitions":
            return {block[0] for part in self.parts for block in part.blocks}
        table = self.table(space)
        header = json.loads(table.schema.metadata[b"halfspace"])
        count, starts, most = header["partitions"], header["starts"], 2 * report["probes"]
        packed = numpy.array(table["centroid"].to_pylist(), "u1")
        bits, dimensions = header["centroidBits"], header["dimensions"]
        values = numpy.unpackbits(packed, axis=1, bitorder="little", count=bits * dimensions)
        values = values.reshape(len(values), dimensions, bits) @ (1 << numpy.arange(bits))
        centroids = values - 2.0 ** (bits - 1)
        centroids /= numpy.maximum(numpy.linalg.norm(centroids, axis=1, keepdims=True), 1)
        point = numpy.floor(query * (63 / numpy.abs(query).max()) + 0.5)
        point /= numpy.linalg.norm(point)
        nearest = lambda rows: sorted(rows, key=lambda p: (-(centroids[p] @ point), p))
        order = range(count)
        considered = 16 * max(24, most)
        if considered < count:
            order = []
            for group in nearest(range(count, len(centroids))):
                order += range(starts[group - count], starts[group - count + 1])
                if len(order) >= considered:
                    break
        order = nearest(order)
        cosines = centroids[order] @ point
        near = cosines[:most] >= cosines[:24].mean() - report["slack"]
        return set(order[: max(1, near.sum())])

    def search(self, id, k):
        (query,) = [
            part.vector(position)
            for part in self.parts
            if (position := part.position(id)) is not None
            and part.rows["row"][position].as_py() not in self.removed
        ]
        visited = self.visited(query)
        found = {}
        for part in self.parts:
            for partition, block in part.blocks:
                for at in block if partition in visited and partition != 2**32 - 1 else ():
                    row = part.rows["row"][at].as_py()
                    if row in self.removed or part.ids[at].as_py() == id:
                        continue
                    found[row] = (part.ids[at].as_py(), float(part.vector(at) @ query))
        best = sorted(found, key=lambda row: (-found[row][1], row))[:k]
        return [{"id": found[row][0], "cosine": found[row][1]} for row in best]


if __name__ == "__main__":
    path, limit, *ids = sys.argv[1:]
    folder = Folder(path)
    print(json.dumps([folder.search(own, int(limit)) for own in ids]))
