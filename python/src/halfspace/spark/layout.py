"""Which rows meet in which task, so that every near pair meets, and is reported, exactly once.

Codes within distance d agree in at least one of d + 1 disjoint blocks of bits (pigeonhole), so a row
goes to d + 1 cells, by the value of each block. A census counts the values, and small ones share a
cell. The rows of a value that has too many are cut into shards, and each pair of shards is a cell. A
pair is reported by the first block in which it agrees. Where blocks would be too narrow to tell rows
apart, there is one without bits, of which all rows have the same value.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

#: Bits of a block, and the values that the census counts.
BLOCK_BITS, VALUES = 16, 2**16
#: Blocks of fewer bits do not tell rows apart.
MIN_BLOCK_BITS = 8


@dataclass
class Cell:
    """Rows that meet. Their pairs agree in the bits `agree`, and in no set of `differ` entirely; with
    sides, only rows of different ones are paired."""

    agree: list[int]
    differ: list[list[int]]
    has_sides: bool = False


@dataclass
class Layout:
    """The cells, and how rows come to them."""

    blocks: list[list[int]]
    cells: list[Cell] = field(default_factory=list)
    #: By block and value the first of its cells, -1 for none.
    firsts: list[np.ndarray] = field(default_factory=list)
    #: How many shards meet in the cells from a first one on, where there are several.
    shards: dict[int, int] = field(default_factory=dict)


def blocks_of(bits: int, distance: int) -> list[list[int]]:
    """d + 1 disjoint blocks of the bits, each of at most 16; or one without bits."""
    if bits // (distance + 1) < MIN_BLOCK_BITS:
        return [[]]
    return [part[:BLOCK_BITS].tolist() for part in np.array_split(range(bits), distance + 1)]


def census(blocks: list[list[int]], codes: np.ndarray) -> np.ndarray:
    """How many rows have each value of each block."""
    return np.array([np.bincount(values_of(codes, block), minlength=VALUES) for block in blocks])


def values_of(codes: np.ndarray, block: list[int]) -> np.ndarray:
    """By row the value of a block of bits; `codes` is a matrix of bytes."""
    values, i = np.zeros(len(codes), np.uint16), 0
    while i < len(block):
        byte, bit = divmod(block[i], 8)
        is_whole = block[i : i + 8] == list(range(8 * byte, 8 * byte + 8))
        part = codes[:, byte] if is_whole else (codes[:, byte] >> bit) & 1
        values |= part.astype(np.uint16) << i
        i += 8 if is_whole else 1
    return values


def layout_of(blocks: list[list[int]], counts: np.ndarray, cell_rows: int) -> Layout:
    """Cells of about `cell_rows` rows for the values of a census."""
    made = Layout(blocks)
    cells = made.cells
    for at, (block, sizes) in enumerate(zip(blocks, counts, strict=True)):
        differ = blocks[:at]
        firsts = np.full(VALUES, -1, np.int32)
        for value in np.flatnonzero(sizes > cell_rows):
            firsts[value] = len(cells)
            shards = made.shards[len(cells)] = -(-2 * int(sizes[value]) // cell_rows)
            pairs = itertools.combinations_with_replacement(range(shards), 2)
            cells.extend(Cell(block, differ, i != j) for i, j in pairs)
        # One row alone has no pair. The largest first, each to the cell with the fewest rows.
        left = np.flatnonzero((sizes > 1) & (sizes <= cell_rows))
        left = left[np.argsort(-sizes[left], kind="stable")]
        wanted = max(1, round(int(sizes[left].sum()) / cell_rows)) if len(left) else 0
        loads = [(0, len(cells) + i) for i in range(wanted)]
        cells.extend(Cell(block, differ) for _ in range(wanted))
        for value in left:
            rows, firsts[value] = loads[0]
            heapq.heapreplace(loads, (rows + int(sizes[value]), loads[0][1]))
        # numpy sorts 16 bits by radix, three times as fast.
        made.firsts.append(firsts.astype(np.int16) if len(cells) < 1 << 15 else firsts)
    return made


def copies(layout: Layout, codes: np.ndarray) -> Iterator[tuple[int, int, np.ndarray]]:
    """Yields (cell, side, rows that go there) for a matrix of codes; side 1 is for the second of two
    shards."""
    for block, firsts in zip(layout.blocks, layout.firsts, strict=True):
        targets = firsts[values_of(codes, block)]
        order = np.argsort(targets, kind="stable")
        found, starts = np.unique(targets[order], return_index=True)
        for first, there in zip(map(int, found), np.split(order, starts[1:]), strict=True):
            if first in layout.shards:
                own = hashes_of(codes[there]) % np.uint64(layout.shards[first])
                shards = [there[own == shard] for shard in range(layout.shards[first])]
                pairs = itertools.combinations_with_replacement(range(len(shards)), 2)
                for cell, (i, j) in enumerate(pairs, first):
                    yield from ((cell, side, shards[n]) for side, n in enumerate(sorted({i, j})))
            elif first >= 0:
                yield first, 0, there


def hashes_of(codes: np.ndarray) -> np.ndarray:
    """By row a hash of all bits of the code."""
    mixed = np.zeros(len(codes), np.uint64)
    for column in codes.T:
        mixed = (mixed ^ column) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed
