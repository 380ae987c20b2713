/**
 * Hashes one long line and prints what it cost. In a process of its own, whose memory nobody else
 * moves. Arguments: what the line repeats, and how many megabytes of code units it has.
 */

import { TextHasher } from '../../src/index';
import { peakMemory } from '../reference/peak-memory';

export interface LongLineReport {
  /** Different words. */
  words: number;
  /** Most memory that the process held beyond the line itself. */
  peakBytes: number;
  /** What typed arrays hold after a short text was read behind it. */
  keptBytes: number;
}

const [piece, megabytes] = process.argv.slice(2);
const hasher = new TextHasher();
hasher.hash(piece);
const line = piece.repeat((Number(megabytes) * 1_000_000) / piece.length);
line.charCodeAt(line.length >> 1); // engines put the pieces together when it is first read
const before = process.memoryUsage.rss();
const words = hasher.vectorize(line).values.length;
const peakBytes = peakMemory() - before;
hasher.hash('short');
for (let round = 0; round < 3; round++) {
  globalThis.gc?.();
  await new Promise((resolve) => setTimeout(resolve, 100)); // engines free what is large beside
}
const keptBytes = process.memoryUsage().arrayBuffers;
const report: LongLineReport = { words, peakBytes, keptBytes };
process.stdout.write(JSON.stringify(report));
