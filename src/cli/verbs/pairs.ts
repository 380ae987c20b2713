/**
 * `halfspace pairs`: all pairs of near rows, of one collection or between two. The codes are in
 * memory; the pairs stream through it batch by batch, so there may be any number of them.
 */

import { cosineOf } from '../../hashing/angle';
import {
  type ColumnData,
  type Ids,
  type PairBatch,
  type PairsWork,
  pairs,
  RowBatch,
} from '../../node';
import type { Call } from '../call';
import {
  type Collection,
  checkNearness,
  idsAt,
  nearnessOf,
  readCollection,
} from '../input/collection';
import type { HashSource } from '../input/hash-source';
import { isIndexFolder } from '../input/index-folder';
import { counted, durationText, grouped } from '../output/figures';
import { openOutput } from '../output/rows';

/** Memory of the join: rows by their code, and tables of blocks of bits. */
const JOIN_BYTES_PER_ROW = 32;
/** Shorter times are not shown. */
const MIN_SECONDS = 0.1;

/** Writes a row for each pair, ordered by its rows; without -o to stdout. */
export async function run(call: Call): Promise<0> {
  const { args } = call;
  if (args.length === 0) {
    call.misuse('an input is missing: a file, an index folder, or - for stdin');
  }
  if (args.length > 2) call.misuse(`expected one or two inputs, got also ${args[2]}`);
  // Refuses before the work what cannot be written.
  const writer = await openOutput(call, { inputs: args, header: { kind: 'pairs' } });
  const [left, right] = await collections(call, args);
  const near = nearnessOf(call, left);
  const found = await call.long('comparing', async (work) => {
    const options = {
      ...{ ...near, ...work, onStart: (plan: PairsWork) => sayPlan(call, plan, left.bits) },
      equal: call.has('first-equal') ? ('first' as const) : ('all' as const),
    };
    const columns = pairColumns(left.bits, { a: left.ids, b: (right ?? left).ids });
    const all =
      right === null ? pairs(left.source, options) : pairs(left.source, right.source, options);
    let count = 0;
    for await (const batch of all) {
      await writer.write(RowBatch.of(columns(batch), { firstRow: count }));
      count += batch.a.length;
    }
    if (count === 0) await writer.write(RowBatch.of(columns(noPairs(all.hasCosines))));
    return count;
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
    hold: call.has('min-cosine') ? ('vectors' as const) : undefined,
    bytesPerRow: JOIN_BYTES_PER_ROW,
    begin: (source: HashSource | null) => checkNearness(call, source),
  };
  if (other === undefined) return [await readCollection(call, one, wish), null];
  if (one === '-' && other === '-') call.misuse('stdin can be one of the inputs, not both');
  const isOtherFirst = !(await isIndexFolder(one)) && (await isIndexFolder(other));
  const [first, second] = isOtherFirst ? [other, one] : [one, other];
  const made = await readCollection(call, first, wish);
  const next = await readCollection(call, second, { ...wish, like: made.like });
  return isOtherFirst ? [next, made] : [made, next];
}

/** Says how many comparisons the join makes, before it makes them. */
function sayPlan(call: Call, plan: PairsWork, bits: number): void {
  const { rows, distinct, maxDistance, share, tables, comparisons, expectedSeconds } = plan;
  const equal = distinct < rows ? ` (${grouped(distinct)} different codes)` : '';
  const isShort = expectedSeconds < MIN_SECONDS;
  const time = isShort ? `less than ${MIN_SECONDS} s` : durationText(expectedSeconds);
  const way = tables === 0 ? 'all with all' : `by ${counted(tables, 'table')}`;
  const caught =
    share === null ? '' : `, which finds ${(100 * share).toFixed(1)} % of the pairs at that cosine`;
  call.say(
    `${counted(rows, 'row')}${equal} within ${maxDistance} of ${bits} bits${caught}: ${way}, ` +
      `about ${counted(comparisons, 'comparison')} in ${time}`,
  );
}

/** The one batch where there are no pairs: outputs have their columns nevertheless. */
function noPairs(hasCosines: boolean): PairBatch {
  const none = { a: new Uint32Array(), b: new Uint32Array(), distances: new Uint16Array() };
  return { ...none, cosines: hasCosines ? new Float64Array() : null };
}

/** Of estimated cosines; more would be noise, since 65,535 bits err in the third digit. */
const DIGITS = 6;

/** Makes the columns of batch after batch; `cosine` is exact, `cosine_estimate` of the bits. */
function pairColumns(
  bits: number,
  idsOf: { a: Ids | null; b: Ids | null },
): (batch: PairBatch) => Record<string, ColumnData> {
  const estimates = Float64Array.from({ length: bits + 1 }, (_, distance) =>
    Number(cosineOf(distance, bits).toFixed(DIGITS)),
  );
  return ({ a, b, distances, cosines }) => ({
    ...{ a, b },
    ...(idsOf.a && { id_a: idsAt(idsOf.a, a) }),
    ...(idsOf.b && { id_b: idsAt(idsOf.b, b) }),
    distance: distances,
    ...(cosines === null
      ? { cosine_estimate: Float64Array.from(distances, (distance) => estimates[distance]) }
      : { cosine: cosines }),
  });
}
