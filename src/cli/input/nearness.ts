/**
 * Which rows are near, by the options of the call. A similarity is exact where the rows have
 * vectors, or can be read again: then the rows that some other is near enough to are read a second
 * time, and pairs are checked by their vectors. Elsewhere it is estimated from the distance.
 */

import {
  COSINE,
  catchingDistance,
  catchShare,
  JACCARD,
  type Measure,
  widestAt,
} from '../../hashing/measure';
import { SparseVectors } from '../../index/vectors/sparse-vectors';
import { type Codes, pairs, type SparseMatrix } from '../../node';
import type { Call } from '../call';
import { counted, percent, similarityWords } from '../output/figures';
import type { Collection } from './collection';
import type { HashSource } from './hash-source';

/**
 * Texts are nearly the same within this share of the bits: 40 of 256, a cosine of .88. In a trial
 * with passages of 20 to 300 words, some of them replaced, it found 98 of 100 of those with 2 %
 * replaced and 65 to 88 of those with 5 %; of the pairs that it found among 98,313 poems 99.9 %
 * were two editions of one.
 */
const NEAR_TEXT_SHARE = 5 / 32;
/** Share of the pairs at the least similarity that candidates must catch. */
const CAUGHT = 0.99;

/** What rows must meet to be near, as options of `pairs` and `dedup`. */
export interface Nearness {
  readonly maxDistance?: number | undefined;
  readonly minCosine?: number | undefined;
  readonly minJaccard?: number | undefined;
  readonly vectors?: SparseVectors | undefined;
}

/** The options that name a least similarity. */
export const LEAST = ['min-cosine', 'min-jaccard'] as const;

/**
 * Fails before rows are read where no option says what is near; only texts have a default. An index
 * folder has no source.
 */
export function checkNearness(call: Call, source: HashSource | null): void {
  const isSaid = ['max-distance', ...LEAST].some((name) => call.has(name));
  if (!isSaid && source?.choice.kind !== 'text') {
    call.misuse('give --max-distance N or --min-cosine C; halfspace calibrate helps to choose');
  }
}

/** The least similarity of the options, which must be of the measure of the codes. */
function leastOf(call: Call, measure: Measure): number | undefined {
  const [own, other] = measure === JACCARD ? [LEAST[1], LEAST[0]] : LEAST;
  if (call.has(other)) {
    const wanted = measure === JACCARD ? COSINE : JACCARD;
    call.misuse(`--${other} needs codes made by --measure ${wanted.name}, not ${measure.name}`);
  }
  return call.number(own);
}

/** What the options mean for two collections, or for one whose rows cannot be compared exactly. */
export function estimatedNearness(
  call: Call,
  { bits, measure }: Pick<Collection, 'bits' | 'measure'>,
): Nearness {
  const maxDistance = maxDistanceOf(call, bits);
  const least = leastOf(call, measure);
  if (least === undefined)
    return { maxDistance: maxDistance ?? usualDistance(call, bits, measure) };
  const within = Math.min(widestAt(measure, least, bits), maxDistance ?? bits);
  call.say(
    `${similarityWords(measure)} ${least} or more is taken as within ${within} of ${bits} bits: ` +
      'an estimate, pairs at the edge fall on either side',
  );
  return { maxDistance: within };
}

/** What the options mean for a collection; says so, and what the default for texts is. */
export async function nearnessOf(call: Call, rows: Collection): Promise<Nearness> {
  const { bits, measure, vectors, again } = rows;
  const least = leastOf(call, measure);
  if (least === undefined || (vectors === null && again === null)) {
    return estimatedNearness(call, rows);
  }
  const near = measure === JACCARD ? { minJaccard: least } : { minCosine: least };
  const given = maxDistanceOf(call, bits);
  if (vectors !== null) return { ...near, maxDistance: given };
  const maxDistance = given ?? catchingDistance(measure, { least, bits, probability: CAUGHT });
  const held = await candidateVectors(call, rows, maxDistance);
  const caught = percent(catchShare(measure, { least, bits, maxDistance }));
  call.say(
    `pairs within ${maxDistance} of ${bits} bits are checked exactly: they hold ${caught} of the ` +
      `pairs at ${similarityWords(measure)} ${least}, and more of those above`,
  );
  return { ...near, maxDistance, vectors: held };
}

function maxDistanceOf(call: Call, bits: number): number | undefined {
  const maxDistance = call.number('max-distance');
  if (maxDistance === undefined || maxDistance <= bits) return maxDistance;
  return call.misuse(
    `--max-distance expected at most the ${bits} bits of a code, got ${maxDistance}`,
  );
}

/** The distance of near texts where no option says it. */
function usualDistance(call: Call, bits: number, measure: Measure): number {
  const usual = Math.round(NEAR_TEXT_SHARE * bits);
  const similarity = measure.estimateOf(usual, bits).toFixed(2);
  call.say(
    `near is within ${usual} of ${bits} bits (${similarityWords(measure)} about ${similarity}): ` +
      'texts with 2 % of their words changed are nearly always within it, with 5 % mostly; ' +
      '--max-distance chooses another',
  );
  return usual;
}

/**
 * The vectors of the rows that are within a distance of another, read again from the input; those
 * of other rows are left out, so that memory is that of the candidates.
 */
async function candidateVectors(
  call: Call,
  { source, again, count }: Collection,
  maxDistance: number,
): Promise<SparseVectors> {
  const codes = source as Codes;
  const isCandidate = new Uint8Array(count);
  await call.long('comparing', async (work) => {
    for await (const { a, b } of pairs(codes, { maxDistance, equal: 'first', ...work })) {
      for (let i = 0; i < a.length; i++) isCandidate[a[i]] = isCandidate[b[i]] = 1;
    }
  });
  const vectors = new SparseVectors();
  const rows = (await again?.()) as HashSource;
  let at = 0;
  for await (const batch of rows) {
    for (const piece of rows.piecesOf(batch, (row) => isCandidate[row] === 1)) {
      const matrix = piece.vectors as SparseMatrix;
      vectors.append(matrix, 0, piece.count, (row) => isCandidate[at + row] === 1);
      at += piece.count;
    }
  }
  if (at !== count)
    call.fail(`${rows.reader.file} changed while it was read: ${counted(at, 'row')}`);
  return vectors;
}
