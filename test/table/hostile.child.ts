/**
 * Opens each hostile file and prints a line of JSON for it: what came of it. In a separate process,
 * since some were made to hang or to fill the memory. Arguments: the fixtures, and the first to open.
 */

import { writeSync } from 'node:fs';
import { codesFromArrow } from '../../src/index';
import { sparseFromArrow, vectorsFromArrow } from '../reference/arrow';
import { allocated } from './allocations'; // first: it must see the libraries' constructors
import { note } from './child-note';
import { type HostileFile, Workshop } from './hostile';
import { badTypes, badValues, compressedBodies } from './hostile-content';
import { badMetadata, bodies, footers, rowClaims, streams } from './hostile-structure';

export interface HostileOutcome {
  name: string;
  fileBytes: number;
  /** Class and text of the error; null when an answer came. */
  error: { name: string; message: string } | null;
  /** What the message must match, as the source of a regular expression. */
  message: string;
  bytes: number;
  ms: number;
}

const [fixtures, first] = process.argv.slice(2);
type Reader = (source: Uint8Array, options: object) => unknown;
const readers: Record<'codes' | 'vectors' | 'sparse', Reader> = {
  codes: codesFromArrow,
  vectors: vectorsFromArrow,
  sparse: sparseFromArrow,
};

/** All of them, made one by one. */
function* hostileFiles(workshop: Workshop): Generator<HostileFile> {
  yield* rowClaims(workshop);
  yield* footers(workshop);
  yield* bodies(workshop);
  yield* badMetadata(workshop);
  yield* streams(workshop);
  yield* compressedBodies(workshop);
  yield* badTypes(workshop);
  yield* badValues(workshop);
}

let index = 0;
const workshop = new Workshop(new URL(fixtures));
for (const { name, reads, options, bytes, message } of hostileFiles(workshop)) {
  if (index++ < Number(first)) continue;
  note(`${index - 1}: ${name}`);
  const start = performance.now();
  const { answer: error, bytes: wanted } = allocated(() => {
    try {
      readers[reads](bytes, { ...options, file: 'hostile.arrow' });
      return null;
    } catch (thrown) {
      return { name: (thrown as Error).name, message: (thrown as Error).message };
    }
  });
  const ms = performance.now() - start;
  const outcome: HostileOutcome = {
    ...{ name, fileBytes: bytes.length, error, message: message.source, bytes: wanted, ms },
  };
  writeSync(1, `${JSON.stringify(outcome)}\n`);
}
writeSync(1, 'null\n');
