/**
 * Near-duplicates in a file that a visitor has dropped on the page. The file is read, hashed and
 * compared in the page, and sent nowhere.
 */

import { openRows } from '../../src/formats/open-rows';
import {
  type Codes,
  type DedupPlan,
  dedup,
  type LongCall,
  SimHasher,
  TextHasher,
} from '../../src/index';
import { RowBatch } from '../../src/table/row-batch';

/** Bits of a code: what the command takes for texts and vectors. */
const BITS = 256;
/** Rows of texts after which the page may draw. */
const PAUSE_AFTER_ROWS = 1000;

/** A column whose rows can be compared. */
export interface Comparable {
  readonly name: string;
  readonly kind: 'text' | 'vector';
}

export interface OpenFile {
  readonly name: string;
  readonly rows: RowBatch;
  /** Columns of texts, those with the longest first, then columns of vectors. */
  readonly columns: readonly Comparable[];
}

export interface GroupRow {
  readonly row: number;
  readonly text: string;
  readonly isKept: boolean;
  /** Of the row that is kept. */
  readonly similarity: number | null;
}

export interface Duplicates {
  readonly codes: Codes;
  readonly plan: DedupPlan;
  readonly dropped: number;
  /** Groups of two rows or more, the largest first: positions of their rows. */
  readonly groups: readonly (readonly number[])[];
}

/** Reads a file of CSV, JSONL, Parquet or Arrow; an error names the line where there are lines. */
export async function readFile(file: File, signal: AbortSignal): Promise<OpenFile> {
  const [first, second] = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  const bytes = file.stream() as ReadableStream<Uint8Array<ArrayBuffer>>;
  const isGzip = first === 0x1f && second === 0x8b;
  const plain = isGzip ? bytes.pipeThrough(new DecompressionStream('gzip')) : bytes;
  const batches: RowBatch[] = [];
  for await (const batch of await openRows(chunksOf(plain), { file: file.name })) {
    signal.throwIfAborted();
    batches.push(batch);
  }
  const rows = RowBatch.join(batches);
  const fits = (fit: 'text' | 'vector') =>
    rows.columns.filter((one) => one.fits.includes(fit)).map(({ name }) => ({ name, kind: fit }));
  const texts = fits('text').map((one) => ({ ...one, length: lengthOf(rows.texts(one.name)) }));
  texts.sort((a, b) => b.length - a.length);
  const columns = [...texts, ...fits('vector')];
  if (columns.length > 0) return { name: file.name, rows, columns };
  throw new Error(`${file.name}: no column has texts or vectors`);
}

/** Finds rows whose similarity to the row that is kept is at least `least`. */
export async function findDuplicates(
  { rows }: OpenFile,
  { name, kind }: Comparable,
  least: number,
  call: LongCall,
): Promise<Duplicates> {
  const { codes, near } =
    kind === 'text'
      ? await ofTexts(rows.texts(name), call)
      : await ofVectors(rows.vectors(name), call);
  const plan = await dedup(codes, { ...near(least), ...call });
  const members = new Map<number, number[]>();
  plan.groups.forEach((group, row) => {
    const own = members.get(group);
    if (own === undefined) members.set(group, [row]);
    else own.push(row);
  });
  const groups = [...members.values()].filter((own) => own.length > 1);
  groups.sort((a, b) => b.length - a.length);
  const dropped = plan.kept.reduce((sum, isKept) => sum + 1 - isKept, 0);
  return { codes, plan, dropped, groups };
}

/** Codes of texts, and their sets of pairs of words, by which `dedup` compares exactly. */
async function ofTexts(texts: readonly (string | null)[], call: LongCall) {
  const hasher = new TextHasher({
    bits: BITS,
    tokens: 'shingles:2',
    projection: 'minwise',
    empty: 'null',
  });
  const plain = texts.map((text) => text ?? '');
  const codes = await hasher.hashAll(plain, call);
  const vectors = await setsOf(hasher, plain, call);
  return { codes, near: (minJaccard: number) => ({ minJaccard, vectors }) };
}

async function setsOf(hasher: TextHasher, texts: readonly string[], { signal }: LongCall) {
  const offsets = new Uint32Array(texts.length + 1);
  let indices = new BigUint64Array(1024);
  for (const [row, text] of texts.entries()) {
    if (row % PAUSE_AFTER_ROWS === 0) await new Promise((go) => setTimeout(go));
    signal?.throwIfAborted();
    const own = hasher.vectorize(text).indices as BigUint64Array;
    const end = offsets[row] + own.length;
    if (end > indices.length) {
      const more = new BigUint64Array(2 * end);
      more.set(indices);
      indices = more;
    }
    indices.set(own, offsets[row]);
    offsets[row + 1] = end;
  }
  const count = offsets[texts.length];
  return { offsets, indices: indices.subarray(0, count), values: new Float32Array(count).fill(1) };
}

async function ofVectors(vectors: ReturnType<RowBatch['vectors']>, call: LongCall) {
  const { dimensions } = vectors;
  const hasher = new SimHasher({ bits: BITS, dimensions, projection: 'hadamard', zero: 'null' });
  const codes = await hasher.hashAll(vectors, call);
  return { codes, near: (minCosine: number) => ({ minCosine, vectors }) };
}

/** The rows of a group, the kept one first. */
export function groupRows(
  { rows }: OpenFile,
  { name, kind }: Comparable,
  { plan }: Duplicates,
  group: readonly number[],
): GroupRow[] {
  const shown = group.map((row) => {
    const isKept = plan.kept[row] === 1;
    const one = rows.slice(row, row + 1);
    const text = kind === 'text' ? (one.texts(name)[0] ?? '') : labelOf(one);
    return { row, text, isKept, similarity: isKept ? null : (plan.similarities?.[row] ?? null) };
  });
  return shown.sort((a, b) => Number(b.isKept) - Number(a.isKept) || a.row - b.row);
}

/** What names a row of vectors: its values of other columns. */
function labelOf(row: RowBatch): string {
  const plain = row.columns.filter(({ fits }) => !fits.includes('vector'));
  return plain.map(({ name }) => String(row.values(name)[0])).join(' · ');
}

/** The groups as CSV: a line for each row that is in one. */
export function groupsText({ plan, groups }: Duplicates): string {
  const lines = groups.flatMap((group, number) =>
    group.map((row) => {
      return [row, number, plan.kept[row], plan.duplicateOf[row]].join(',');
    }),
  );
  return ['row,group,kept,duplicate_of', ...lines, ''].join('\n');
}

const lengthOf = (texts: readonly (string | null)[]) =>
  texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);

/** The chunks of a stream; not every browser gives streams an iterator. */
function chunksOf(stream: ReadableStream<Uint8Array>): AsyncIterable<Uint8Array> {
  const reader = stream.getReader();
  return {
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        const { done, value } = await reader.read();
        return done ? { done, value: undefined } : { done: false, value };
      },
    }),
  };
}
