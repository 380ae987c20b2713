// Rows that are held out as queries, drawn by a seeded generator.

import seedrandom from 'seedrandom';

/** `{ train, queries }`: the row numbers of each, ascending; each row is as likely a query. */
export function heldOut(total, queryCount, seed) {
  const held = drawn(total, queryCount, seed);
  const rows = [...Array(total).keys()];
  return {
    train: rows.filter((row) => !held.has(row)),
    queries: rows.filter((row) => held.has(row)),
  };
}

/** `count` different rows of `total`, each as likely as any other. */
export function drawn(total, count, seed) {
  const random = seedrandom(seed);
  const rows = new Set();
  while (rows.size < count) rows.add(Math.floor(random() * total));
  return rows;
}
