/**
 * Pairs of near rows as a stream of rows: the codes are in memory, the pairs pass through it batch
 * by batch, so that there may be any number of them.
 */

import { type PairsPlan, pairs, RowBatch } from '../../node';
import type { Call } from '../call';
import { type Collection, readCollection } from '../input/collection';
import { isIndexFolder } from '../input/index-folder';
import { checkNearness, nearnessOf } from '../input/nearness';
import { counted, durationText, grouped } from '../output/figures';
import { pairColumns } from '../output/pair-columns';

/** Beside the codes: rows by their code, and tables of the join. */
const JOIN_BYTES_PER_ROW = 32;
/** Shorter times are not told. */
const LEAST_SECONDS = 0.1;

export async function findPairs(call: Call): Promise<0> {
  const { args } = call;
  if (args.length === 0)
    call.misuse('an input is missing: a file, an index folder, or - for stdin');
  if (args.length > 2) call.misuse(`expected one or two inputs, got also ${args[2]}`);
  const writer = await call.rows(call.text('output'), args); // refuses before the work
  const [left, right] = await collections(call, args);
  const near = nearnessOf(call, left);
  const found = await call.long('comparing', async (work) => {
    const options = {
      ...{ ...near, ...work, onPlan: (plan: PairsPlan) => sayPlan(call, plan, left.bits) },
      equal: call.flag('first-equal') ? ('first' as const) : ('all' as const),
    };
    const columns = pairColumns(left.bits, { a: left.ids, b: (right ?? left).ids });
    const all =
      right === null ? pairs(left.source, options) : pairs(left.source, right.source, options);
    let firstRow = 0;
    let isEmpty = true;
    for await (const batch of all) {
      await writer.write(RowBatch.of(columns(batch), { firstRow }));
      firstRow += batch.a.length;
      isEmpty = false;
    }
    if (isEmpty) await writer.write(RowBatch.of(columns(noPairs(all.hasCosines))));
    return firstRow;
  });
  await writer.close();
  call.say(counted(found, 'pair'));
  return 0;
}

/** One or two collections; where one is an index, the other is made as it was. */
async function collections(
  call: Call,
  [one, other]: readonly string[],
): Promise<readonly [Collection, Collection | null]> {
  const wish = {
    hold: call.number('min-cosine') === undefined ? undefined : ('vectors' as const),
    bytesPerRow: JOIN_BYTES_PER_ROW,
    begin: (source: { textHasher: unknown } | null) =>
      checkNearness(call, source !== null && source.textHasher !== null),
  };
  if (other === undefined) return [await readCollection(call, one, wish), null];
  if (one === '-' && other === '-') call.misuse('stdin can be one of the inputs, not both');
  const isOtherFirst = !(await isIndexFolder(one)) && (await isIndexFolder(other));
  const [first, second] = isOtherFirst ? [other, one] : [one, other];
  const made = await readCollection(call, first, wish);
  const next = await readCollection(call, second, { ...wish, like: made.like });
  return isOtherFirst ? [next, made] : [made, next];
}

function sayPlan(call: Call, plan: PairsPlan, bits: number): void {
  const { rows, distinct, maxDistance, share, tables, comparisons, expectedSeconds } = plan;
  const equal = distinct < rows ? ` (${grouped(distinct)} different codes)` : '';
  const way = tables === 0 ? 'all with all' : `by ${counted(tables, 'table')}`;
  const caught =
    share === null ? '' : `, which finds ${(100 * share).toFixed(1)} % of the pairs at that cosine`;
  call.say(
    `${counted(rows, 'row')}${equal} within ${maxDistance} of ${bits} bits${caught}: ${way}, ` +
      `about ${counted(comparisons, 'comparison')} in ${timeText(expectedSeconds)}`,
  );
}

function timeText(seconds: number): string {
  return seconds < LEAST_SECONDS ? `less than ${LEAST_SECONDS} s` : durationText(seconds);
}

function noPairs(hasCosines: boolean) {
  const none = { a: new Uint32Array(), b: new Uint32Array(), distances: new Uint16Array() };
  return { ...none, cosines: hasCosines ? new Float64Array() : null };
}
