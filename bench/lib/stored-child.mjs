// A folder opened and searched in a fresh process: the request names folder, limit and how the
// queries are drawn.

import { execFileSync } from 'node:child_process';
import { openIndex } from '../../dist/node.js';
import { answer, peak, request } from './child.mjs';
import { likeSentences, rowsOf } from './like-sentences.mjs';

const { folder, memory, k, ...drawn } = request();
/** Queries that others are searched after, so that memory holds what searches usually want. */
const OTHERS = 2000;

const draw = likeSentences(drawn.dimensions);
const queries = rowsOf(draw(drawn.queries));
// Three rounds: with files dropped, with files in the page cache but no partition in memory, and
// after other queries.
const isDropped = drop();
const first = await round();
const second = await round();
const last = await round(rowsOf(draw(OTHERS)));
answer({
  openMs: second.openMs,
  dropped: isDropped ? first.speed : null,
  cached: second.speed,
  later: last.speed,
  ...{ reads: second.reads, bytes: second.bytes, rows: second.rows, peak: peak() },
  ...{ laterReads: last.reads, laterBytes: last.bytes },
});

async function round(others = []) {
  const start = performance.now();
  const index = await openIndex(folder, { memory });
  const openMs = performance.now() - start;
  for (const query of others) await index.search(query, { k });
  const before = index.figures;
  const { speed, rows } = await searched(index);
  const { reads, bytesRead } = index.figures;
  await index.close();
  const [ranges, bytes] = [reads - before.reads, bytesRead - before.bytesRead];
  return { openMs, speed, rows, reads: ranges, bytes };
}

async function searched(index) {
  const start = performance.now();
  const rows = [];
  for (const query of queries) rows.push((await index.search(query, { k })).ids.map(Number));
  return { speed: (1000 * queries.length) / (performance.now() - start), rows };
}

/** Whether the pages of files were dropped from memory, as the system permits. */
function drop() {
  try {
    execFileSync('sh', ['-c', 'sync; echo 3 > /proc/sys/vm/drop_caches'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
