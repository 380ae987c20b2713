/**
 * Reads a file of codes once and prints what it cost. In a separate process, whose memory nobody else
 * moves. Arguments: a small file to load the code with, and the file.
 */

import { readFileSync } from 'node:fs';
import { codesFromArrow } from '../../src/index';
import { peakMemory } from '../reference/peak-memory';

export interface MemoryReport {
  /** Most memory that the process held, beyond what it held before the call. */
  peakBytes: number;
  /** What it holds after, garbage collected. */
  keptBytes: number;
  count: number;
}

const [small, large] = process.argv.slice(2);
const collect = () => globalThis.gc?.();

codesFromArrow(readFileSync(small));
const file = readFileSync(large);
collect();
const before = process.memoryUsage.rss();
const { codes } = codesFromArrow(file);
const peakBytes = peakMemory() - before;
collect();
const keptBytes = process.memoryUsage.rss() - before;
// The file is used once more, or the collector might have taken it before the end.
const report: MemoryReport = { peakBytes, keptBytes, count: codes.count + 0 * file.length };
process.stdout.write(JSON.stringify(report));
