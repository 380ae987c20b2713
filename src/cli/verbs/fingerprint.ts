/**
 * Vectors, sparse rows or texts to codes, a batch at a time; the other columns are carried along.
 */

import type { RowWriter } from '../../node';
import { only, toldColumns } from '../input/build-index';
import { openSource } from '../input/hashing';
import { checkMemory, rowsToCome } from '../input/memory';
import { counted } from '../output/figures';
import { HASHING_OPTIONS, OUTPUT_OPTIONS } from '../shared-options';
import type { Verb } from '../verb';

export const verb: Verb = {
  name: 'fingerprint',
  summary: 'vectors or texts to codes, other columns carried along',
  usage: 'IN -o OUT',
  options: [
    ...OUTPUT_OPTIONS,
    {
      ...{ name: 'columns', value: 'NAMES', kind: 'list' },
      help: 'Carry only these columns along, or none (all but the one that becomes codes)',
    },
    ...HASHING_OPTIONS,
  ],
  example: 'halfspace fingerprint datasets/sample/docs.jsonl --bits 128 -o codes.arrow',

  async run(call) {
    const input = call.onlyInput();
    const source = await openSource(call, input);
    const { reader } = source;
    const carried = call.has('columns')
      ? toldColumns(call, source)
      : withId(source.idColumn, source.otherColumns);
    checkMemory(call, await rowsToCome(reader), {
      ...{ parts: {}, advice: 'a smaller size than that is taken by the program alone' },
    });
    let out: RowWriter | null = null;
    for await (const batch of reader) {
      const codes = await source.hash(batch);
      const header = { bits: codes.bits, ...codes.origin };
      out ??= await call.rows(call.text('output'), [input], { header });
      await out.write(only(batch, carried).with({ code: codes }));
    }
    out ??= await call.rows(call.text('output'), [input]);
    await out.close();
    source.sayNulls();
    const bits = source.hasher?.bits;
    call.say(`${counted(out.rowCount, 'code')}${bits === undefined ? '' : ` of ${bits} bits`}`);
    return 0;
  },
};

function withId(id: string | null, others: readonly string[]): string[] {
  return id === null ? [...others] : [id, ...others];
}
