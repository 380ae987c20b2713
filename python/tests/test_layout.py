"""Every near pair meets in exactly one cell in which it is wanted, and rows travel whole; no Spark
needed."""

import collections
import itertools
import json
import subprocess
import sys
import unittest

import numpy as np
import pyarrow as pa

from halfspace.spark import cells, travel
from halfspace.spark import codes as coded

#: What a worker does to rows before a child gets them; pandas takes 2.3 CPU seconds to import.
WORK = """
import sys, numpy
from halfspace.spark import cells, codes as coded
from halfspace.spark import travel
names = ["id", "code"]
rows = travel.pa.RecordBatch.from_arrays([travel.array(numpy.arange(9))] * 2, names)
[value] = coded._look(True, iter([rows]))
made = cells.Layout([[]], numpy.zeros((1, 8), numpy.uint8), numpy.array([9.0]), 9)
parts = cells._copying(made, [7], 8, iter([value]))
print([one.num_rows for one in travel.unpacked(parts)], "pandas" in sys.modules)
"""


def codes_of(shape, count, bits, seed=0):
    draw = np.random.default_rng([seed, bits])
    codes = draw.integers(0, 256, (count, bits // 8), np.uint8)
    if shape == "clustered":
        codes[:] = codes[draw.integers(0, 5, count)]
        for row in codes:
            for bit in draw.integers(0, bits, draw.integers(0, 5)):
                row[bit >> 3] ^= 1 << (bit & 7)
    if shape == "half share a block":
        codes[::2, :2] = 90
        codes[::4, 2:] = codes[0, 2:]
        codes[::4, -1] = draw.integers(0, 4, len(codes[::4]))
    return np.unique(codes, axis=0)


def bits_of(codes):
    return np.unpackbits(codes, axis=1, bitorder="little")


def near_pairs(codes, distance):
    apart = (bits_of(codes)[:, None] != bits_of(codes)[None]).sum(2)
    return {(int(a), int(b)) for a, b in np.argwhere(apart <= distance) if a < b}


def layout_for(codes, distance, cell_rows):
    blocks = cells.blocks_of(8 * codes.shape[1], distance)
    return cells.Layout(blocks, codes, np.ones(len(codes)), cell_rows)


def sizes_of(made, codes):
    sizes = np.zeros(len(made.cells), int)
    for cell, _, rows in made.copies(codes):
        sizes[cell] += len(rows)
    return sizes


class Layout(unittest.TestCase):
    def test_each_near_pair_meets_where_it_is_wanted_once(self):
        # By blocks of 16, of 21 and of no bits.
        for shape, (bits, distance), cell_rows in itertools.product(
            ["uniform", "clustered", "half share a block"], [(64, 3), (128, 5), (64, 9)], [60]
        ):
            with self.subTest(shape=shape, bits=bits, distance=distance, cell_rows=cell_rows):
                codes = codes_of(shape, 240, bits)
                made = layout_for(codes, distance, cell_rows)
                own, found = bits_of(codes), []
                wanted = near_pairs(codes, distance)
                met = collections.defaultdict(lambda: [np.array([], int)] * 2)
                for cell, side, rows in made.copies(codes):
                    met[cell] = [rows if i == side else old for i, old in enumerate(met[cell])]
                for cell, (left, right) in met.items():
                    one = made.cells[cell]
                    pairs = itertools.product(left, right) if one.has_sides else itertools.combinations(left, 2)
                    for a, b in (sorted(map(int, pair)) for pair in pairs):
                        same = own[a] == own[b]
                        is_wanted = same[one.agree].all() and not any(same[bits].all() for bits in one.differ)
                        if (a, b) in wanted and is_wanted:
                            found.append((a, b))
                self.assertEqual(sorted(found), sorted(wanted))
                self.assertGreater(len(wanted) if shape != "uniform" else 1, 0)

    def test_cells_are_even_where_half_of_the_rows_share_a_value(self):
        draw = np.random.default_rng(5)
        codes = draw.integers(0, 256, (200_000, 8), np.uint8)
        codes[::2, :2] = 90
        made = layout_for(codes, 3, 40_000)
        self.assertLess(sizes_of(made, codes).max(), 1.3 * 40_000)
        self.assertEqual([one.shards for one in made.cells if one.shards], [6] * 21)

    def test_a_value_that_fits_into_a_cell_is_not_divided(self):
        codes = np.random.default_rng(6).integers(0, 256, (70_000, 8), np.uint8)
        codes[:30_000, :2] = 90
        made = layout_for(codes, 3, 40_000)
        self.assertFalse(any(one.shards for one in made.cells))
        self.assertTrue(30_000 <= sizes_of(made, codes).max() <= 40_000)

    def test_rows_travel_as_one_value(self):
        for ids in ([3], [7, 8, 9, -1], [0, 2**31, -(2**63), 2**63 - 1, 5], ["a", "b"]):
            rows = pa.record_batch({"id": pa.array(ids), "code": pa.array(range(len(ids)))})
            for sent in (rows, rows.slice(len(ids) // 2)):
                [value] = travel.packed(iter([sent]))
                [found] = travel.unpacked([value])
                self.assertEqual(found.to_pydict(), sent.to_pydict())
                self.assertEqual(travel.rows_in(value.column("rows")[0].as_py()), len(found))

    def test_values_that_a_sample_lacks_are_spread_over_all_cells(self):
        codes = np.random.default_rng(7).integers(0, 256, (100_000, 8), np.uint8)
        codes[::3, :2] = 90
        made = cells.Layout(cells.blocks_of(64, 3), codes[::100], np.full(1000, 100.0), 20_000)
        self.assertEqual([one.shards for one in made.cells if one.shards], [4] * 10)
        self.assertLess(sizes_of(made, codes).max(), 1.5 * 20_000)

    def test_rows_are_counted_and_a_sample_of_their_codes_is_taken(self):
        own = pa.array([5, 5, None, 7] + list(range(100_000)))
        rows = pa.record_batch({"id": pa.array([*range(100_003), 9]), "code": own})
        [value] = coded._look(False, iter([rows]))
        self.assertEqual(next(travel.unpacked(iter([value]))).to_pydict(), rows.drop_null().to_pydict())
        seen = json.loads(value.column("seen")[0].as_py())
        self.assertEqual(seen, {"spans": [None], "rows": 100_003, "widths": [8, 8]})
        sample = np.frombuffer(value.column("sample")[0].as_py(), np.int64)
        self.assertEqual(len(set(sample.tolist())), 512)
        self.assertAlmostEqual(sample.mean() / 50_000, 1, delta=0.01)

    def test_of_rows_with_equal_codes_one_stays(self):
        own = pa.array([b"aa", b"bb", b"aa", b"aa", b"bb", b"cc"])
        rows = pa.record_batch({"id": pa.array(range(6)), "code": own, "within": pa.array(list("xxxyxx"))})
        [value] = coded._look(True, iter([rows]))
        [stay], [equal] = (travel.opened([value.column(name)[0].as_py()]) for name in ("rows", "equal"))
        self.assertEqual(stay.column("id").to_pylist(), [0, 1, 3, 5])
        self.assertEqual(equal.to_pydict(), {"id_a": [0, 1], "id_b": [2, 4]})

    def test_the_spans_in_which_ids_ascend_are_seen(self):
        files = [pa.record_batch({"id": pa.array(ids, pa.int64()), "code": pa.array(ids, pa.int64())}) for ids in ([7, 8], [9], [], [3, 5], [0, 1], [10])]
        [found] = coded._look(False, iter(files))
        seen = json.loads(found.column("seen")[0].as_py())
        self.assertEqual(seen, {"spans": [[7, 8], [9, 9], [3, 5], [0, 1], [10, 10]], "widths": [8, 8], "rows": 8})

    def test_rows_meet_by_each_key_that_others_have_too(self):
        codes = codes_of("clustered", 300, 128)
        behind = np.random.default_rng(3).integers(0, 40, (len(codes), 3), np.uint32)
        behind[:5] = np.arange(100, 115).reshape(5, 3)  # which nobody else has
        kinds = [f"{i % 2}" for i in range(len(codes))]
        rows = pa.record_batch({"id": pa.array(range(len(codes))), "code": pa.array([b"?"] * len(codes)), "within": kinds})
        rows = travel.with_codes(rows, np.hstack([codes, behind.view(np.uint8)]))
        expected = {(a, b) for a, b in itertools.combinations(range(len(codes)), 2)
                    if kinds[a] == kinds[b] and (behind[a] == behind[b]).any()}  # fmt: skip
        found = set()
        for sent in cells._by_keys(iter([rows]), 16):
            self.assertTrue((travel.matrix(sent.column("code")) == codes[sent.column("id").to_numpy()]).all())
            for _, group in itertools.groupby(sorted(zip(sent.column("within").to_pylist(), sent.column("id").to_pylist())), lambda row: row[0]):
                found |= {*itertools.combinations([id for _, id in group], 2)}
        self.assertEqual(found, expected)

    def test_a_worker_does_not_import_pandas(self):
        said = subprocess.check_output([sys.executable, "-c", WORK], text=True)
        self.assertEqual(said.strip(), "[9] False")


if __name__ == "__main__":
    unittest.main()
