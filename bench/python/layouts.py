"""Whether cells are even at 100,000,000 codes: the census and the layout alone, without Spark and without
the rows' way to their cells. Compared with fixed prefixes: as many cells, by the first bits of a block.
Arguments: the rows, and those of a cell."""

import resource
import sys

import numpy as np

from halfspace.spark import layout
from halfspace.spark.pairs import CELL_ROWS

BITS, DISTANCE, BATCH = 64, 3, 1_000_000


def uniform(draw, count):
    return draw.integers(0, 2**64, count, np.uint64)


def zipf_nouns(draw, count):
    """Nouns as often as texts have them (Zipf, 1,000,000 nouns), a code differs from its noun's by 3
    bits at most: what occurrences of words make."""
    nouns = np.random.default_rng(9).integers(0, 2**64, 1_000_000, np.uint64)
    rank = np.exp(draw.random(count) * np.log(len(nouns))).astype(np.int64) - 1
    return changed(draw, nouns[rank], 3)


def near_duplicates(draw, count):
    """Nine of ten rows are copies of 1,000 texts; the others are their own."""
    of_text = np.random.default_rng(9).integers(0, 2**64, 1_000, np.uint64)
    made = uniform(draw, count)
    copies = draw.random(count) < 0.9
    made[copies] = changed(draw, of_text[draw.integers(0, 1_000, copies.sum())], 3)
    return made


def half_share_a_block(draw, count):
    """Half of the rows agree in their first 16 bits."""
    made = uniform(draw, count)
    made[::2] &= ~np.uint64(0xFFFF)
    return made


def changed(draw, codes, times):
    for _ in range(times):
        flips = draw.integers(0, 2, len(codes), np.uint64)
        codes ^= flips << draw.integers(0, 64, len(codes), np.uint64)
    return codes


def batches(shape, rows):
    """The same codes at each reading."""
    for number, start in enumerate(range(0, rows, BATCH)):
        made = shape(np.random.default_rng([3, number]), min(BATCH, rows - start))
        yield made.view(np.uint8).reshape(-1, 8)


def prefixes(counts, cells):
    """Rows of cells by the first bits of a block, over the mean."""
    width = int(np.ceil(np.log2(max(cells / len(counts), 1))))
    by_prefix = counts.reshape(len(counts), 1 << width, -1).sum(2)
    return by_prefix.max() / by_prefix.mean()


def simulate(shape, rows, cell_rows):
    began, levels = resource.getrusage(resource.RUSAGE_SELF).ru_utime, []

    def census(root, level):
        counts = layout.no_rows(level)
        for codes in batches(shape, rows):
            for number, at, found in layout.counted(root, codes):
                counts[number][at] += found
        levels.append((level, counts))
        return counts

    _, cells = layout.tree(BITS, DISTANCE, cell_rows, census)
    loads = np.zeros(len(cells))
    for level, counts in levels:
        for node, of_node in zip(level, counts):
            for of_value, of_block in zip(node.cells, of_node):
                there = of_value >= 0
                loads += np.bincount(of_value[there], of_block[there], minlength=len(cells))
    cpu = resource.getrusage(resource.RUSAGE_SELF).ru_utime - began
    print(
        f"| {shape.__name__.replace('_', ' ')} | {len(cells):,} | {loads.mean():,.0f} | {loads.max() / loads.mean():.2f} | "
        f"{prefixes(levels[0][1][0], len(cells)):.1f} | {loads.sum() / rows:.2f} | {len(levels)} | {cpu:.0f} |",
        flush=True,
    )


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    rows, cell_rows = given + [100_000_000, CELL_ROWS][len(given) :]
    print("| codes | cells | rows a cell | largest over mean | by fixed prefixes | copies a row | readings | CPU s |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for shape in (uniform, zipf_nouns, near_duplicates, half_share_a_block):
        simulate(shape, rows, cell_rows)
