/**
 * `halfspace pairs`: all pairs of near rows, within one collection or between two. Codes are held
 * in memory; pairs are written batch by batch, so their number is not limited by memory.
 */

import { idsAt } from '../../base/ids';
import { noColumn } from '../../base/nearest-name';
import { estimatedName, type Measure } from '../../codes/measure';
import { noPairs } from '../../join/pairs';
import {
  type ColumnData,
  type Ids,
  type PairBatch,
  type PairsWork,
  pairs,
  RowBatch,
} from '../../node';
import type { Call } from '../call';
import { type Collection, readCollection } from '../input/collection';
import type { HashSource } from '../input/hash-source';
import { isIndexFolder } from '../input/index-folder';
import { bandsOf, checkNearness, estimatedNearness, nearnessOf } from '../input/nearness';
import { Within } from '../input/within';
import { counted, durationText, grouped, similarityWords } from '../output/figures';
import { openOutput } from '../output/rows';

/** An expected time below this is shown as less than this. */
const MIN_SECONDS = 0.1;

/**
 * Writes a row for each pair, to stdout without -o. Within one collection a < b, and pairs are in
 * the order of a, then b.
 */
export async function run(call: Call): Promise<0> {
  const { args } = call;
  if (args.length === 0) {
    call.misuse('an input is missing: a file, an index folder, or - for stdin');
  }
  if (args.length > 2) call.misuse(`expected one or two inputs, got also ${args[2]}`);
  const header = { kind: 'pairs' } as const;
  // Opened before the work, so that an output that cannot be written is refused at once.
  const writer = await openOutput(call, { inputs: args, header });
  const groups = call.has('within') ? new Within(call) : null;
  const shown = call.has('columns') ? call.list('columns') : null;
  const [left, right] = await collections(call, args, groups);
  // Between two collections similarities are exact only if both hold their vectors.
  const isExact = right === null || (left.vectors !== null && right.vectors !== null);
  const near = isExact ? await nearnessOf(call, left) : estimatedNearness(call, left);
  const found = await call.long('comparing', async (work) => {
    const options = {
      ...{ ...near, ...work, onStart: (plan: PairsWork) => sayPlan(call, plan, left) },
      ...(groups && { group: groups.ofRows }),
    };
    const columns = pairColumns(left, { a: left.ids, b: (right ?? left).ids }, shown);
    const all =
      right === null ? pairs(left.source, options) : pairs(left.source, right.source, options);
    let count = 0;
    for await (const batch of all) {
      await writer.write(RowBatch.of(columns(batch), { firstRow: count }));
      count += batch.a.length;
    }
    // An empty batch gives an output without pairs the columns of others.
    if (count === 0) await writer.write(RowBatch.of(columns(noPairs(all))));
    return count;
  });
  await writer.close();
  call.say(counted(found, 'pair'));
  return 0;
}

/**
 * Reads one or two collections; the second is null for one. If one of two is an index, it is read
 * first and the other is hashed as it was; the result is in the order of the command line.
 */
async function collections(
  call: Call,
  [one, other]: readonly string[],
  groups: Within | null,
): Promise<readonly [Collection, Collection | null]> {
  const options = {
    hold: call.has('min-cosine') ? ('vectors' as const) : undefined,
    areTextsSets: true,
    begin: (source: HashSource | null) => {
      checkNearness(call, source);
      groups?.check(source);
    },
    columns: () => (groups === null ? [] : [groups.column]),
    take: (batch: RowBatch) => groups?.take(batch),
  };
  if (other === undefined) {
    return [await readCollection(call, one, { ...options, bands: bandsOf(call) }), null];
  }
  if (groups !== null) call.misuse('--within goes with one input, not with two');
  if (one === '-' && other === '-') call.misuse('stdin can be one of the inputs, not both');
  const isOtherFirst = !(await isIndexFolder(one)) && (await isIndexFolder(other));
  const [first, second] = isOtherFirst ? [other, one] : [one, other];
  const made = await readCollection(call, first, options);
  const next = await readCollection(call, second, { ...options, like: made.like });
  return isOtherFirst ? [next, made] : [made, next];
}

/** Says how the join will compare rows, how often and how long, before it begins. */
function sayPlan(call: Call, plan: PairsWork, { bits, measure }: Collection): void {
  const { rows, distinct, maxDistance, share, tables, comparisons, expectedSeconds } = plan;
  const equal = distinct < rows ? ` (${grouped(distinct)} different codes)` : '';
  const isShort = expectedSeconds < MIN_SECONDS;
  const time = isShort ? `less than ${MIN_SECONDS} s` : durationText(expectedSeconds);
  const way = tables === 0 ? 'all with all' : `by ${counted(tables, 'table')}`;
  const similarity = similarityWords(measure);
  const caught =
    share === null
      ? ''
      : `, which finds ${(100 * share).toFixed(1)} % of the pairs at that ${similarity}`;
  call.say(
    `${counted(rows, 'row')}${equal} within ${maxDistance} of ${bits} bits${caught}: ${way}, ` +
      `about ${counted(comparisons, 'comparison')} in ${time}`,
  );
}

/** Digits of estimates. More would be noise: even codes of 65,535 bits err in the third one. */
const DIGITS = 6;

/**
 * Returns a function from a batch of pairs to its columns. An exact similarity is `cosine` or
 * `jaccard`; one that the distance estimates is `estimatedCosine` or `estimatedJaccard`. `shown`
 * names the columns to write, null for all; an unknown name throws.
 */
function pairColumns(
  { bits, measure }: { readonly bits: number; readonly measure: Measure },
  idsOf: { a: Ids | null; b: Ids | null },
  shown: readonly string[] | null,
): (batch: PairBatch) => Record<string, ColumnData> {
  // By distance: there are at most bits + 1 of them, and many more pairs.
  const estimates = Float64Array.from({ length: bits + 1 }, (_, distance) =>
    Number(measure.estimateOf(distance, bits).toFixed(DIGITS)),
  );
  return ({ a, b, distances, cosines, jaccards }) => {
    const exact = cosines ?? jaccards;
    const all: Record<string, ColumnData> = {
      ...{ a, b },
      ...(idsOf.a && { id_a: idsAt(idsOf.a, a) }),
      ...(idsOf.b && { id_b: idsAt(idsOf.b, b) }),
      distance: distances,
      [exact === null ? estimatedName(measure) : measure.name]:
        exact ?? Float64Array.from(distances, (distance) => estimates[distance]),
    };
    if (shown === null) return all;
    const missing = shown.find((name) => !(name in all));
    if (missing !== undefined) throw noColumn(missing, Object.keys(all));
    return Object.fromEntries(shown.map((name) => [name, all[name]]));
  };
}
