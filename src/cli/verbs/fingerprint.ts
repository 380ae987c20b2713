/**
 * `halfspace fingerprint`: vectors, sparse rows or texts to codes, a batch at a time; the other
 * columns are carried along. `halfspace frequencies`: in how many texts each word is, as a table by
 * which `fingerprint --frequencies` weighs words.
 */

import { LongWork } from '../../base/long-work';
import { formatOfPath } from '../../formats/row-reader';
import { Codes, frequenciesToArrow, type RowWriter } from '../../node';
import { freeNames } from '../../table/row-batch';
import { bandsFor } from '../../text/text-set';
import type { Call } from '../call';
import { keysFor } from '../input/collection';
import { countFrequencies, openInputRows } from '../input/input-rows';
import { chooseSource, namedColumns, openInput } from '../input/open-input';
import { counted } from '../output/figures';
import { openBytes, openOutput } from '../output/rows';

/** Streams: memory does not grow with the rows. */
export async function run(call: Call): Promise<0 | 1> {
  const input = call.onlyInput();
  const source = await openInputRows(call, input);
  const { idColumn } = source.choice;
  const carried = call.has('columns')
    ? namedColumns(call, source.reader)
    : [...(idColumn === null ? [] : [idColumn]), ...source.otherColumns];
  let out: RowWriter | null = null;
  let width = '';
  const least = call.number('keys');
  for await (const batch of source) {
    if (least !== undefined) source.keys = keysFor(source, (bits) => bandsFor(least, bits));
    const code = withKeys(await source.hash(batch), source.keys?.all());
    width = ` of ${code.bits} bits`;
    const header = { bits: code.bits, ...code.origin };
    out ??= await openOutput(call, { inputs: [input], header });
    const renamed = carried.includes('code') && {
      [freeNames(carried, ['code'])[carried.indexOf('code')]]: batch.column('code'),
    };
    await out.write(batch.only(carried).with({ ...renamed, code }));
  }
  out ??= await openOutput(call, { inputs: [input] });
  await out.close();
  source.sayNulls();
  call.say(`${counted(out.rowCount, 'code')}${width}`);
  return 0;
}

/** Codes with the keys of their rows behind them, of which each row has as many. */
function withKeys(codes: Codes, keys: Uint32Array | undefined): Codes {
  if (!keys?.length) return codes;
  const { count, bytesPerCode, validity, origin } = codes;
  const more = keys.byteLength / count;
  const bytes = new Uint8Array(keys.buffer, keys.byteOffset, keys.byteLength);
  const made = Codes.allocate(count, { bits: 8 * (bytesPerCode + more), validity, origin });
  for (let row = 0; row < count; row++) {
    const at = row * (bytesPerCode + more);
    made.bytes.set(codes.bytes.subarray(row * bytesPerCode, (row + 1) * bytesPerCode), at);
    made.bytes.set(bytes.subarray(row * more, (row + 1) * more), at + bytesPerCode);
  }
  return made;
}

/** Counts the texts of all inputs. Memory grows with the distinct words, not with the texts. */
export async function frequencies(call: Call): Promise<0> {
  const path = call.text('output') ?? call.misuse('an output is missing: -o table.arrow');
  if (!['arrow', null].includes(formatOfPath(path))) {
    call.misuse(`-o expected a name in .arrow, got ${path}`);
  }
  const input = call.args.length > 1 ? call.args : call.onlyInput();
  const write = await openBytes(call, path, [input].flat());
  const reader = await openInput(call, input);
  const [column] = chooseSource(call, reader, ['text']).columns;
  const table = await countFrequencies(call, reader, column);
  const work = new LongWork({ signal: call.signal });
  const bytes = frequenciesToArrow(table);
  await work.step(); // a signal that came meanwhile is heard only now
  await write(bytes);
  call.say(`${counted(table.size, 'word')} of ${counted(table.documents, 'text')} in ${path}`);
  return 0;
}
