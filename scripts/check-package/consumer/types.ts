// The packed library as a user's TypeScript: compiled as .mts, .cts and .ts, never run.

import {
  type Codes,
  codesFromArrow,
  codesToArrow,
  FormatError,
  type Neighbors,
  SimHasher,
  type SimHasherOptions,
  scan,
} from 'halfspace';
import { createRows, openRows, RowBatch } from 'halfspace/node';

const options: SimHasherOptions = { bits: 128, seed: 7n, projection: 'gaussian' };
const hasher = new SimHasher(options);
const code: Uint8Array = hasher.hash({ indices: [3, 17, 90210], values: [1.5, 0.2, 4] });
export async function first(): Promise<number> {
  const codes: Codes = await hasher.hashAll([new Float32Array(4).fill(1), [1, 2, 3, 4]]);
  const bytes: Uint8Array = codesToArrow(codes, { ids: ['a', 'b'] });
  const { rows, distances }: Neighbors = scan(codesFromArrow(bytes).codes, code, { k: 10 });
  // @ts-expect-error a number is not the options
  scan(codes, code, 10);
  // @ts-expect-error codes are not bytes
  scan(bytes, code);
  return rows[0] + distances[0];
}

export async function files(path: string): Promise<Codes> {
  const all: Codes[] = [];
  for await (const batch of await openRows(path)) {
    all.push(await hasher.hashAll(batch.vectors('vector')));
  }
  const output = await createRows(path);
  await output.write(RowBatch.of({ code: all[0] }));
  await output.close();
  return all[0];
}

export function fileOf(error: unknown): string | undefined {
  return error instanceof FormatError ? error.file : undefined;
}

// The types are the library's own, not `any`: each of these is refused.
// @ts-expect-error an option that does not exist
new SimHasher({ bitz: 64 });
// @ts-expect-error a projection that does not exist
new SimHasher({ projection: 'sings' });
