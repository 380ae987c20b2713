/**
 * Reads Parquet files with bytes changed and prints, as JSON, what was seen. In a separate process:
 * a hang can be ended there, and memory is small. Arguments: the fixtures' folder, a seed, and how
 * many changes to each file.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import seedrandom from 'seedrandom';
import { FormatError, openRows } from '../../src/node';
import { peakMemory } from '../reference/peak-memory';
import { note } from '../table/child-note';

export interface Seen {
  tried: number;
  refused: number;
  slowestMs: number;
  peakBytes: number;
  /** What must not be, the first few. */
  failures: string[];
}

const [folder, seed, changes] = process.argv.slice(2);
const seen: Seen = { tried: 0, refused: 0, slowestMs: 0, peakBytes: 0, failures: [] };

async function read(bytes: Uint8Array): Promise<void> {
  const source = (async function* () {
    yield bytes;
  })();
  for await (const batch of await openRows(source, { format: 'parquet', file: 'some.parquet' })) {
    for (const { name } of batch.columns) batch.values(name);
  }
}

async function attempt(what: string, bytes: Uint8Array): Promise<void> {
  note(what);
  seen.tried++;
  const start = performance.now();
  try {
    await read(bytes);
  } catch (error) {
    seen.refused++;
    const isPlain =
      error instanceof FormatError &&
      error.message.startsWith('some.parquet: ') &&
      !/undefined|is not a function|not iterable|Invalid typed array|DataView/.test(error.message);
    if (!isPlain && seen.failures.length < 10) seen.failures.push(`${what}: ${error}`);
  }
  seen.slowestMs = Math.max(seen.slowestMs, performance.now() - start);
}

for (const name of readdirSync(folder).filter((one) => one.endsWith('.parquet'))) {
  const sound = readFileSync(join(folder, name));
  const random = seedrandom.alea(`${seed} ${name}`);
  const below = (count: number) => Math.floor(random() * count);
  for (let i = 0; i < Number(changes); i++) {
    const at = below(sound.length);
    const flip = 1 + below(255);
    const bytes = Uint8Array.from(sound);
    bytes[at] ^= flip;
    await attempt(`${name}, byte ${at} ^ ${flip}`, bytes);
  }
}
seen.peakBytes = peakMemory();
console.log(JSON.stringify(seen));
