/** Answers found the slow and obvious way: bit by bit, and by sorting everything. */

/** The number of differing bits, looked at one at a time. */
export function countDifferentBits(a: Uint8Array, b: Uint8Array): number {
  let count = 0;
  for (let j = 0; j < 8 * a.length; j++) {
    if (((a[j >> 3] >> (j & 7)) & 1) !== ((b[j >> 3] >> (j & 7)) & 1)) count++;
  }
  return count;
}

/** Distances from `query` to `count` codes that lie one after another. */
export function naiveDistances(codes: Uint8Array, count: number, query: Uint8Array): Uint16Array {
  const width = query.length;
  return Uint16Array.from({ length: count }, (_, row) =>
    countDifferentBits(codes.subarray(row * width, (row + 1) * width), query),
  );
}

/** Rows by distance, then row: all of them, or the first k, or those within a distance. */
export function naiveNeighbors(
  codes: readonly (Uint8Array | null)[],
  query: Uint8Array | null,
  wanted: { k?: number; maxDistance?: number },
): { rows: Uint32Array; distances: Uint16Array } {
  const { k = Number.POSITIVE_INFINITY, maxDistance = Number.POSITIVE_INFINITY } = wanted;
  const all: { row: number; distance: number }[] = [];
  codes.forEach((code, row) => {
    if (code !== null && query !== null) {
      all.push({ row, distance: countDifferentBits(code, query) });
    }
  });
  const found = all
    .filter(({ distance }) => distance <= maxDistance)
    .sort((a, b) => a.distance - b.distance || a.row - b.row)
    .slice(0, k);
  return {
    rows: Uint32Array.from(found, ({ row }) => row),
    distances: Uint16Array.from(found, ({ distance }) => distance),
  };
}
