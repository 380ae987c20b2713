/**
 * `halfspace fingerprint`: vectors, sparse rows or texts to codes, a batch at a time; the other
 * columns are carried along.
 */

import type { RowWriter } from '../../node';
import type { Call } from '../call';
import { namedColumns, only } from '../input/build-index';
import { openSource } from '../input/hashing';
import { checkMemory, rowsToCome } from '../input/memory';
import { counted } from '../output/figures';
import { openOutput } from '../output/rows';

/** Streams: memory does not grow with the rows. */
export async function run(call: Call): Promise<0 | 1> {
  const input = call.onlyInput();
  const source = await openSource(call, input);
  const { reader } = source;
  const carried = call.has('columns')
    ? namedColumns(call, source)
    : [...(source.idColumn === null ? [] : [source.idColumn]), ...source.otherColumns];
  const advice = 'a smaller size than that is taken by the program alone';
  checkMemory(call, await rowsToCome(reader), { parts: {}, advice });
  let out: RowWriter | null = null;
  for await (const batch of reader) {
    const codes = source.hash(batch);
    const header = { bits: codes.bits, ...codes.origin };
    out ??= await openOutput(call, { inputs: [input], header });
    await out.write(only(batch, carried).with({ code: codes }));
  }
  out ??= await openOutput(call, { inputs: [input] });
  await out.close();
  source.sayNulls();
  const bits = source.hasher?.bits;
  call.say(`${counted(out.rowCount, 'code')}${bits === undefined ? '' : ` of ${bits} bits`}`);
  return 0;
}
