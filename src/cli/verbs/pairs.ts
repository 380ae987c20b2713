/**
 * `halfspace pairs`: all pairs of near rows, within one collection or between two. Codes are held
 * in memory; pairs are written batch by batch, so their number is not limited by memory.
 */

import { idsAt } from '../../base/arrays';
import { estimatedName, type Measure } from '../../codes/measure';
import { type ColumnData, type Ids, type PairBatch, pairs, RowBatch } from '../../node';
import { isIndexFolder } from '../../store/generations';
import type { Call } from '../call';
import { type Collection, type CollectionNeeds, readCollection } from '../input/collection';
import { bandsOf, checkNearness, nearnessOf, type Within, withinOf } from '../input/near';
import { counted } from '../output/figures';
import { openOutput } from '../output/rows';

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
  // Opened before the work, so that an output that cannot be written is refused at once.
  const writer = await openOutput(call, { inputs: args, header: { kind: 'pairs' } });
  const within = withinOf(call);
  const [left, right] = await collections(call, args, within);
  const near = await nearnessOf(call, left, right);
  const columnsOf = pairColumns(left, { a: left.ids, b: (right ?? left).ids });
  const found = await call.long('comparing', async (work) => {
    const cell = call
      .text('cell')
      ?.split('/')
      .map((bits) => bits.split(',').map(Number));
    const options = { ...near, ...work, cell, ...(within && { group: within.ofRows() }) };
    const all =
      right === null ? pairs(left.source, options) : pairs(left.source, right.source, options);
    let count = 0;
    for await (const batch of all) {
      await writer.write(RowBatch.of(columnsOf(batch), { firstRow: count }));
      count += batch.a.length;
    }
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
  within: Within | null,
): Promise<readonly [Collection, Collection | null]> {
  const needs: CollectionNeeds = {
    hold: call.has('min-cosine') ? 'vectors' : undefined,
    areTextsSets: true,
    begin(rows) {
      checkNearness(call, rows);
      return within === null ? [] : [within];
    },
  };
  if (other === undefined) {
    return [await readCollection(call, one, { ...needs, bands: bandsOf(call) }), null];
  }
  if (within !== null) call.misuse('--within goes with one input, not with two');
  if (one === '-' && other === '-') call.misuse('stdin can be one of the inputs, not both');
  const isOtherFirst = !(await isIndexFolder(one)) && (await isIndexFolder(other));
  const [first, second] = isOtherFirst ? [other, one] : [one, other];
  const made = await readCollection(call, first, needs);
  const next = await readCollection(call, second, { ...needs, like: made.like });
  return isOtherFirst ? [next, made] : [made, next];
}

/** Digits of estimates. More would be noise: even codes of 65,535 bits err in the third one. */
const DIGITS = 6;

/**
 * Returns a function from a batch of pairs to its columns. An exact similarity is `cosine` or
 * `jaccard`; one that the distance estimates is `estimatedCosine` or `estimatedJaccard`.
 */
function pairColumns(
  { bits, measure }: { readonly bits: number; readonly measure: Measure },
  idsOf: { a: Ids | null; b: Ids | null },
): (batch: PairBatch) => Record<string, ColumnData> {
  // By distance: there are at most bits + 1 of them, and many more pairs.
  const estimates = Float64Array.from({ length: bits + 1 }, (_, distance) =>
    Number(measure.estimateOf(distance, bits).toFixed(DIGITS)),
  );
  return ({ a, b, distances, similarities }) => ({
    a,
    b,
    ...(idsOf.a && { id_a: idsAt(idsOf.a, a) }),
    ...(idsOf.b && { id_b: idsAt(idsOf.b, b) }),
    distance: distances,
    [similarities === null ? estimatedName(measure) : measure.name]:
      similarities ?? Float64Array.from(distances, (distance) => estimates[distance]),
  });
}
