"""Which rows meet in which task, so that every near pair meets, and is reported, exactly once.

Codes within distance d agree in at least one of d + 1 disjoint blocks of bits (pigeonhole), so a row
goes to d + 1 cells, by the value of each block. A sample tells how many rows have a value, and several
values share a cell. The rows of a value that has too many are cut into shards, and each pair of shards is
a cell. A pair is reported by the first block in which it agrees. Where blocks would be too narrow to tell
rows apart, there is one without bits, of which all rows have the same value.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

#: Bits of a block at most.
BLOCK_BITS = 16
#: Values that are fewer times in a sample are taken to have equally many rows.
FEW = 8
#: Blocks of fewer bits do not tell rows apart.
MIN_BLOCK_BITS = 8


@dataclass
class Cell:
    """Rows that meet. Their pairs agree in the bits `agree`, and in no set of `differ` entirely; with
    sides, only rows of different ones are paired."""

    agree: list[int]
    differ: list[list[int]]
    has_sides: bool = False
    #: How many shards meet in this cell and the following ones, where they are of one value.
    shards: int = 0


@dataclass
class Layout:
    """The cells, and by block and value the first of them that its rows go to."""

    blocks: list[list[int]]
    cells: list[Cell]
    firsts: list[np.ndarray]


def blocks_of(bits: int, distance: int) -> list[list[int]]:
    """d + 1 disjoint blocks of the bits, each of at most 16; or one without bits."""
    if bits // (distance + 1) < MIN_BLOCK_BITS:
        return [[]]
    return [part[:BLOCK_BITS].tolist() for part in np.array_split(range(bits), distance + 1)]


def values_of(codes: np.ndarray, block: list[int]) -> np.ndarray:
    """By row the value of a block of bits; `codes` is a matrix of bytes."""
    values = np.zeros(len(codes), np.uint16)
    for byte in {bit // 8 for bit in block}:
        shift, column = 8 * byte - block[0], codes[:, byte].astype(np.uint16)
        values |= column << shift if shift > 0 else column >> -shift
    values &= np.uint16((1 << len(block)) - 1)
    return values


def layout_of(
    blocks: list[list[int]], codes: np.ndarray, rows_of: np.ndarray, cell_rows: int
) -> Layout:
    """Cells of about `cell_rows` rows by a sample of codes, and of how many rows each of these is."""
    cells: list[Cell] = []
    all_firsts = []
    for at, block in enumerate(blocks):
        values, differ, count = values_of(codes, block), blocks[:at], 1 << len(block)
        sizes = np.bincount(values, rows_of, count)
        is_rare = np.bincount(values, minlength=count) < FEW
        sizes[is_rare] = sizes[is_rare].sum() / max(1, is_rare.sum())
        firsts = np.empty(count, np.int32)
        for value in np.flatnonzero(sizes > cell_rows):
            firsts[value] = len(cells)
            shards = math.ceil(2 * sizes[value] / cell_rows)
            pairs = itertools.combinations_with_replacement(range(shards), 2)
            cells.extend(Cell(block, differ, i != j, shards) for i, j in pairs)
        # The largest first, from cell to cell.
        left = np.flatnonzero(sizes <= cell_rows)
        left = left[np.argsort(-sizes[left], kind="stable")]
        ends, total = np.cumsum(sizes[left]), sizes[left].sum()
        wanted = max(min(1, len(left)), round(total / cell_rows))
        place = (ends - sizes[left] / 2) * wanted / max(total, 1)
        firsts[left] = len(cells) + np.minimum(place.astype(np.int32), wanted - 1)
        cells.extend(Cell(block, differ) for _ in range(wanted))
        # numpy sorts 16 bits by radix, three times as fast.
        all_firsts.append(firsts.astype(np.int16) if len(cells) < 1 << 15 else firsts)
    return Layout(blocks, cells, all_firsts)


def copies(layout: Layout, codes: np.ndarray) -> Iterator[tuple[int, int, np.ndarray]]:
    """Yields (cell, side, rows that go there) for a matrix of codes; side 1 is for the second of two
    shards."""
    for block, firsts in zip(layout.blocks, layout.firsts, strict=True):
        targets = firsts[values_of(codes, block)]
        order = np.argsort(targets, kind="stable")
        found, starts = np.unique(targets[order], return_index=True)
        for first, there in zip(map(int, found), np.split(order, starts[1:]), strict=True):
            shards = layout.cells[first].shards
            if shards == 0:
                yield first, 0, there
                continue
            shard = hashes_of(codes[there]) % np.uint64(shards)
            parts = [there[shard == one] for one in range(shards)]
            pairs = itertools.combinations_with_replacement(range(shards), 2)
            for cell, pair in enumerate(pairs, first):
                yield from ((cell, side, parts[one]) for side, one in enumerate(sorted({*pair})))


def hashes_of(codes: np.ndarray) -> np.ndarray:
    """By row a hash of all bits of the code."""
    mixed = np.zeros(len(codes), np.uint64)
    for column in codes.T:
        mixed = (mixed ^ column) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed
