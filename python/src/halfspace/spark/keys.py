"""Near rows by keys: nearly all texts that are alike share one of some keys, made of their min-hashes. Only
rows with an equal key are compared, so that work grows with the rows, not with their pairs."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from .rows import Batches, array, matrix, numbers, with_codes

#: Bytes of a key, which stands behind a code.
KEY_BYTES = 4
#: Bits that are set in a byte.
BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(1, dtype=np.uint8)
#: Comparisons that are always made, at once, and the share of all pairs that is made beyond: the command
#: compares all in the time of these.
FEW, AT_ONCE, SHARE = 1 << 22, 1 << 20, 1 / 64


def with_key(rows: pa.RecordBatch, own: int, at: int) -> pa.RecordBatch:
    """Rows whose codes keep their own bytes and the key that begins at a byte."""
    codes = matrix(rows.column("code"))
    return with_codes(rows, np.hstack([codes[:, :own], codes[:, at : at + KEY_BYTES]]))


def by_keys(batches: Batches, own: int, max_distance: int) -> tuple[Batches, Batches]:
    """Pairs id_a, id_b that connect the rows which near rows connect, by the keys behind the `own` bytes of
    their codes. Where too many rows have equal keys without being near, these rows without keys."""
    first = next(batches, None)
    if first is None:
        return iter(()), iter(())
    [rows] = pa.Table.from_batches(itertools.chain([first], batches)).combine_chunks().to_batches()
    codes, group = matrix(rows.column("code")), np.uint32(0)
    if "within" in rows.schema.names:  # only rows of one value meet
        number = numbers(rows.column("within").dictionary_encode().indices)
        group = number.astype(np.uint32) * np.uint32(0x9E3779B1)
    behind = (codes[:, at : at + KEY_BYTES].copy() for at in range(own, codes.shape[1], KEY_BYTES))
    keys = (key.view(np.uint32)[:, 0] ^ group for key in behind)
    least = tied(codes[:, :own], keys, max_distance)
    if least is None:
        return iter(()), iter([with_codes(rows, codes[:, :own])])
    tied_rows = np.flatnonzero(least != np.arange(len(least)))
    ends = [rows.column("id").take(array(one)) for one in (least[tied_rows], tied_rows)]
    return iter([pa.RecordBatch.from_arrays(ends, ["id_a", "id_b"])]), iter(())


def tied(codes: np.ndarray, keys: Iterable[np.ndarray], max_distance: int) -> np.ndarray | None:
    """By row the least row that chains of near rows connect it with: those within the distance that have one
    of their keys equal. None where too many rows have equal keys without being near."""
    least = np.arange(len(codes))
    left = FEW + int(SHARE * len(codes) * (len(codes) - 1) / 2)
    for key in keys:
        order = np.argsort(key, kind="stable")
        sorted_key = key[order]
        at, step = np.arange(len(key)), 0
        while len(at):
            step += 1
            at = at[: np.searchsorted(at, len(key) - step)]
            at = at[sorted_key[at] == sorted_key[at + step]]
            a, b = order[at], order[at + step]
            is_open = least[a] != least[b]
            a, b = a[is_open], b[is_open]
            left -= len(a)
            if left < 0:
                return None
            starts = range(0, len(a), AT_ONCE)
            parts = [BITS[codes[a[i : i + AT_ONCE]] ^ codes[b[i : i + AT_ONCE]]].sum(1) for i in starts]
            is_near = np.concatenate([np.empty(0), *parts]) <= max_distance
            connect(least, a[is_near], b[is_near])
    return least


def connect(least: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
    """Connects the numbers a with b; `least` has by number the least that it is connected to."""
    while len(a):
        np.minimum.at(least, np.maximum(least[a], least[b]), np.minimum(least[a], least[b]))
        while (least != least[least]).any():
            least[:] = least[least]
        apart = least[a] != least[b]
        a, b = a[apart], b[apart]
