/**
 * Which rows are near, by the options of the call. A similarity is exact where the rows have
 * vectors, or can be read again: then the rows that some other is near enough to are read a second
 * time, and pairs are checked by their vectors. Elsewhere it is estimated from the distance.
 */

import { readFile } from 'node:fs/promises';
import { checkMaxDistance } from '../../base/check';
import { LongWork } from '../../base/long-work';
import {
  CAUGHT_SHARE,
  COSINE,
  catchingDistance,
  catchShare,
  JACCARD,
  type Measure,
  NEAR_COSINE,
  NEAR_JACCARD,
  widestAt,
} from '../../codes/measure';
import { exactJson, hex } from '../../formats/column-kinds';
import { SparseVectors } from '../../index/vectors/sparse-vectors';
import { eachPairs, nearRows, type PairBatch } from '../../near/pairs';
import { type Nearness, rowsOfCodes } from '../../near/rows';
import type { Codes, DedupOptions, RowBatch, SparseMatrix } from '../../node';
import { bandsFor, caughtBy, type MinBands } from '../../text/text-set';
import type { Call } from '../call';
import { counted, percent, similarityWords } from '../output/figures';
import type { Collection, TakenColumn } from './collection';
import type { InputRows } from './input-rows';

/** Share of the pairs at the least similarity that a distance must catch next to keys. */
const CAUGHT_WITH_KEYS = 0.9999;

/** When rows are near. */
type SaidNearness = Pick<Nearness, 'maxDistance' | 'minCosine' | 'minJaccard'> & {
  readonly vectors?: SparseVectors;
  /** Of the second collection. */
  readonly others?: SparseVectors;
};

const LEAST = ['min-cosine', 'min-jaccard'] as const;

/**
 * Fails before rows are read where no option says what is near; only texts have a default. An index
 * folder has no source.
 */
export function checkNearness(call: Call, rows: InputRows | null): void {
  const isSaid = ['max-distance', ...LEAST].some((name) => call.has(name));
  if (!isSaid && rows?.choice.kind !== 'text') {
    call.misuse('give --max-distance N or --min-cosine C; halfspace calibrate helps to choose');
  }
}

/** The least similarity of the options; a misuse where it is not of the measure of the codes. */
function leastOf(call: Call, measure: Measure): number | undefined {
  const isOfSets = measure === JACCARD;
  const [own, other] = isOfSets ? (['min-jaccard', 'min-cosine'] as const) : LEAST;
  if (call.has(other)) {
    const [wanted, is] = [isOfSets ? COSINE : JACCARD, measure].map(similarityWords);
    call.misuse(`--${other} needs codes made for ${wanted}: these are for ${is}`);
  }
  const isSaid = call.has('max-distance') || call.has(own);
  return isSaid ? call.number(own) : isOfSets ? NEAR_JACCARD : NEAR_COSINE;
}

/** The bands by whose keys candidates are found among texts that are sets; null where not. */
export function bandsOf(call: Call): (bits: number) => MinBands | null {
  if (call.has('max-distance')) return () => null;
  return (bits) => bandsFor(call.number(LEAST[1]) ?? NEAR_JACCARD, bits);
}

/** What the options mean for collections whose rows cannot be compared exactly. */
export function estimatedNearness(
  call: Call,
  { bits, measure }: Pick<Collection, 'bits' | 'measure'>,
): SaidNearness {
  const given = call.number('max-distance');
  const least = leastOf(call, measure);
  if (least === undefined) return { maxDistance: given };
  const most = checkMaxDistance(given ?? bits, bits);
  const maxDistance = Math.min(widestAt(measure, least, bits), most);
  call.say(
    `${similarityWords(measure)} ${least} or more is taken as within ${maxDistance} of ${bits} ` +
      'bits: an estimate, pairs at the edge fall on either side',
  );
  return { maxDistance };
}

/**
 * What the options mean for a collection, or for two; says so, and what the default for texts is.
 * Pairs are exact where all rows have vectors, or can be read again.
 */
export async function nearnessOf(
  call: Call,
  rows: Collection,
  other: Collection | null = null,
): Promise<SaidNearness> {
  const { measure, bits } = rows;
  const least = leastOf(call, measure);
  const all = other === null ? [rows] : [rows, other];
  const areHeld = all.every(({ vectors }) => vectors !== null);
  const canRead = all.every(({ vectors, input }) => vectors === null && input?.canReadAgain);
  if (least === undefined || !(areHeld || canRead)) return estimatedNearness(call, rows);
  const isOfSets = measure === JACCARD;
  const near = isOfSets ? { minJaccard: least } : { minCosine: least };
  const given = call.number('max-distance');
  const within = (probability: number) =>
    given ?? catchingDistance(measure, { least, bits, probability });
  const sayFound = (share: number, maxDistance: number) => {
    const caught = share * catchShare(measure, { least, bits, maxDistance });
    call.say(
      `near are rows at a ${similarityWords(measure)} of ${least} or more, compared exactly: ` +
        `${percent(caught)} of the pairs at ${least} are found, and more of those above`,
    );
  };
  if (areHeld) {
    sayFound(1, within(CAUGHT_SHARE));
    return { ...near, maxDistance: given };
  }
  const ofKeys = other === null ? await candidatesByKeys(call, rows, within, least) : null;
  const found = ofKeys ?? (await candidatesByDistance(call, all, within(CAUGHT_SHARE)));
  const [ours, theirs] = found.areCandidates;
  const vectors = await vectorsOf(call, rows, ours);
  const ofTwo = other !== null && { others: await vectorsOf(call, other, theirs) };
  sayFound(found.share, found.maxDistance);
  return { ...near, maxDistance: isOfSets ? given : found.maxDistance, vectors, ...ofTwo };
}

interface Found {
  /** By collection 1 for each row that is a candidate. */
  readonly areCandidates: readonly Uint8Array[];
  readonly maxDistance: number;
  /** Share of the pairs within the distance both of whose rows are candidates, at least. */
  readonly share: number;
}

/** Candidates by the keys of rows; null without keys, and where many other rows share them. */
async function candidatesByKeys(
  call: Call,
  { source, input }: Collection,
  within: (probability: number) => number,
  least: number,
): Promise<Found | null> {
  const keys = input?.keys;
  if (!keys) return null;
  const maxDistance = within(CAUGHT_WITH_KEYS);
  const rowKeys = { keys: keys.all(), count: keys.bands.count };
  const near = await call.long('comparing', (work) =>
    nearRows(source as Codes, rowKeys, maxDistance, new LongWork(work)),
  );
  return near && { areCandidates: [near], maxDistance, share: caughtBy(keys.bands, least) };
}

/** The rows that are within a distance of others: of one collection, or of two. */
async function candidatesByDistance(
  call: Call,
  all: readonly Collection[],
  maxDistance: number,
): Promise<Found> {
  const areCandidates = all.map(({ count }) => new Uint8Array(count));
  const [ours, theirs = ours] = areCandidates;
  const mark = ({ a, b }: PairBatch) => {
    for (let i = 0; i < a.length; i++) ours[a[i]] = theirs[b[i]] = 1;
  };
  const [one, other = null] = all.map(({ source }) => rowsOfCodes(source as Codes));
  const near = { maxDistance, equal: other === null ? 'first' : 'all' } as const;
  await call.long('comparing', (work) => eachPairs(one, other, near, mark, new LongWork(work)));
  return { areCandidates, maxDistance, share: 1 };
}

/**
 * The vectors of candidates, read again from the input; those of other rows are left out, so that
 * memory is that of the candidates.
 */
async function vectorsOf(
  call: Call,
  { input, count }: Collection,
  isCandidate: Uint8Array,
): Promise<SparseVectors> {
  const vectors = new SparseVectors();
  const isWanted = (row: number) => isCandidate[row] === 1;
  const rows = await (input as InputRows).again(isWanted);
  let at = 0;
  for await (const batch of rows) {
    const matrix = rows.vectorsOf(batch, isWanted) as SparseMatrix;
    const isThere = (row: number) => isCandidate[at + row] === 1;
    vectors.append(matrix, 0, batch.count, isThere);
    at += batch.count;
  }
  if (at !== count) {
    call.fail(`${rows.reader.file} changed while it was read: ${counted(at, 'row')}`);
  }
  return vectors;
}

/**
 * Text that does not make texts near: the members of the set of the text in the file of `--common`;
 * or a function to read texts by, in which that of templates is looked for. Undefined for none.
 */
export async function commonOf(
  call: Call,
  { measure, input, vectors, texts }: Collection,
): Promise<DedupOptions['common']> {
  const given = call.text('common');
  const hasher = input?.textHasher ?? null;
  const areSets = measure === JACCARD && vectors === null && input?.canReadAgain === true;
  if (hasher === null || !areSets) {
    if (given === undefined || given === 'none') return undefined;
    call.misuse('--common needs texts in a file, compared as sets of their tokens');
  }
  if (given === undefined) {
    if (call.has('extend') || call.has('max-distance')) return undefined;
    return async (rows, take) => {
      await texts.of(rows, (row, text) => {
        take(hasher.members(text), row);
        return '';
      });
    };
  }
  if (given === 'none') return undefined;
  const members = hasher.vectorize(await readFile(given, 'utf8')).indices as BigUint64Array;
  if (members.length === 0) call.fail(`${given}: no words`);
  return members;
}

/** What reads the column of `--within`; `ofRows` gives by row its group, -1 for none. */
export interface Within extends TakenColumn {
  ofRows(): Int32Array;
}

/**
 * `--within COLUMN`: rows are compared only with rows of the same value in this column. The values
 * are read with the rows; each distinct one becomes a number, the group of its rows. Rows with a
 * null are in no group. Null without the option.
 */
export function withinOf(call: Call): Within | null {
  const column = call.text('within');
  if (column === undefined) return null;
  const groups = new Map<string, number>();
  const ofRows: number[] = [];
  const take = (batch: RowBatch) => {
    for (const value of batch.values(column)) {
      const key = keyOf(value);
      const group = groups.get(key) ?? groups.size;
      if (value !== null) groups.set(key, group);
      ofRows.push(value === null ? -1 : group);
    }
  };
  return { column, take, ofRows: () => Int32Array.from(ofRows) };
}

/** Equal for equal values: bytes, lists and objects too, and 1 and 1n, as shards may have one. */
function keyOf(value: unknown): string {
  if (value instanceof Uint8Array) return hex(value);
  return typeof value === 'object' ? exactJson(value) : String(value);
}
