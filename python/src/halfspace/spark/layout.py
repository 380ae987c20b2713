"""Which rows meet in which task, so that every near pair meets, and is reported, exactly once.

Codes within distance d agree in at least one of d + 1 disjoint blocks of bits (pigeonhole), so a row
goes to d + 1 cells, by the value of each block. A census counts the values; small ones share a
cell, one with too many rows is divided by further blocks of its other bits. A pair is reported by the
first block in which it agrees. Where blocks would be too narrow to tell rows apart, rows are cut into
shards, and each pair of shards is a cell.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

#: Bits of a block, and the values that the census counts.
BLOCK_BITS, VALUES = 16, 2**16
#: Blocks of fewer bits do not tell rows apart.
MIN_BLOCK_BITS = 8
#: Divisions within divisions; what is then too large stays so.
MAX_DEPTH = 3


@dataclass
class Cell:
    """Rows that meet. Their pairs agree in the bits `agree`, and in no set of `differ` entirely; with
    sides, only rows of different ones are paired."""

    agree: list[int]
    differ: list[list[int]]
    has_sides: bool = False


@dataclass
class Node:
    """Rows that agree in the bits `agree`, to be parted by blocks of the others."""

    agree: list[int]
    differ: list[list[int]]
    blocks: list[list[int]]
    depth: int = 0
    #: The row of a census that counts its first block.
    row: int = 0
    #: By block: the cell of each value, -1 for none, or -2 - n for the n-th of `inner`.
    cells: list[np.ndarray] = field(default_factory=list)
    inner: list[Node] = field(default_factory=list)


#: Counts the rows of a tree, with so many blocks that have no cells yet, by block and value.
Census = Callable[[Node, int], np.ndarray]


def tree(bits: int, distance: int, cell_rows: int, census: Census) -> tuple[Node, list[Cell]]:
    """The tree of blocks, and its cells."""
    root = Node([], [], blocks_of(list(range(bits)), distance))
    cells: list[Cell] = []
    level = [root]
    while level:
        blocks = 0
        for node in level:
            node.row, blocks = blocks, blocks + len(node.blocks)
        counts = census(root, blocks)
        level = [one for node in level for one in assign(node, counts, cells, (bits, distance, cell_rows))]
    return root, cells


def count(root: Node, codes: np.ndarray, counts: np.ndarray) -> None:
    """Adds rows to the counts of the blocks without cells, by value."""
    for node, there in undecided(root, codes, np.arange(len(codes))):
        for row, block in enumerate(node.blocks, node.row):
            counts[row] += np.bincount(values_of(codes[there], block), minlength=VALUES)


def blocks_of(bits: list[int], distance: int) -> list[list[int]]:
    """d + 1 disjoint blocks of some bits, each of at most 16."""
    return [part[:BLOCK_BITS].tolist() for part in np.array_split(bits, distance + 1)]


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


def undecided(
    node: Node, codes: np.ndarray, rows: np.ndarray
) -> Iterator[tuple[Node, np.ndarray]]:
    """Yields (node, rows that it has) for the nodes below this one whose values have no cells."""
    if not node.cells:
        yield node, rows
        return
    for block, of_value in zip(node.blocks, node.cells, strict=True):
        targets = of_value[values_of(codes[rows], block)]
        for n, inner in enumerate(node.inner):
            there = rows[targets == -2 - n]
            if len(there):
                yield from undecided(inner, codes, there)


def assign(
    node: Node, counts: np.ndarray, cells: list[Cell], request: tuple[int, int, int]
) -> list[Node]:
    """Gives the values of a node their cells; `cells` grows by each new one. Returns the nodes of the
    values that are divided."""
    bits, distance, cell_rows = request
    for at, block in enumerate(node.blocks):
        of_value = np.full(VALUES, -1, np.int32)
        sizes = counts[node.row + at]
        rest = [bit for bit in range(bits) if bit not in set(node.agree + block)]
        can_divide = node.depth < MAX_DEPTH and len(rest) >= MIN_BLOCK_BITS * (distance + 1)
        agree, differ = node.agree + block, node.differ + node.blocks[:at]
        for value in np.flatnonzero(sizes > cell_rows) if can_divide else ():
            of_value[value] = -2 - len(node.inner)
            node.inner.append(Node(agree, differ, blocks_of(rest, distance), node.depth + 1))
        # One row alone has no pair. The largest first, each to the cell with the fewest rows.
        left = np.flatnonzero((sizes > 1) & (of_value == -1))
        left = left[np.argsort(-sizes[left], kind="stable")]
        wanted = max(1, round(int(sizes[left].sum()) / cell_rows)) if len(left) else 0
        loads = [(0, len(cells) + i) for i in range(wanted)]
        cells.extend(Cell(agree, differ) for _ in range(wanted))
        for value in left:
            rows, of_value[value] = loads[0]
            heapq.heapreplace(loads, (rows + int(sizes[value]), loads[0][1]))
        # numpy sorts 16 bits by radix, three times as fast.
        node.cells.append(of_value.astype(np.int16) if len(cells) < 1 << 15 else of_value)
    return node.inner


def copies(
    node: Node, codes: np.ndarray, rows: np.ndarray | None = None
) -> Iterator[tuple[int, int, np.ndarray]]:
    """Yields (cell, side, rows that go there), for a matrix of codes or some of its rows."""
    rows = np.arange(len(codes)) if rows is None else rows
    for block, of_value in zip(node.blocks, node.cells, strict=True):
        targets = of_value[values_of(codes[rows], block)]
        order = np.argsort(targets, kind="stable")
        found, starts = np.unique(targets[order], return_index=True)
        for target, there in zip(found, np.split(rows[order], starts[1:]), strict=True):
            if target >= 0:
                yield int(target), 0, there
            elif target < -1:
                yield from copies(node.inner[-2 - target], codes, there)


def hashes_of(codes: np.ndarray) -> np.ndarray:
    """By row a hash of all bits of the code."""
    mixed = np.zeros(len(codes), np.uint64)
    for column in codes.T:
        mixed = (mixed ^ column) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed


def grid(shards: int) -> list[Cell]:
    """For each pair of shards a cell. Where both are one, its rows meet each other."""
    return [Cell([], [], i != j) for i, j in itertools.combinations_with_replacement(range(shards), 2)]


def grid_copies(shards: int, codes: np.ndarray) -> Iterator[tuple[int, int, np.ndarray]]:
    """Yields (cell, side, rows that go there); side 1 is for the second of two shards."""
    own = hashes_of(codes) % np.uint64(shards)
    rows = [np.flatnonzero(own == shard) for shard in range(shards)]
    for cell, pair in enumerate(itertools.combinations_with_replacement(rows, 2)):
        for side in range(2 if pair[0] is not pair[1] else 1):
            yield cell, side, pair[side]
