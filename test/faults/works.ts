/**
 * What is interrupted: every writer, as steps from state to state. State k is known by k alone, so
 * whatever is found after a fault is compared with what must be there.
 */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { PlanFile } from '../../src/explore/server/review';
import * as api from '../../src/node';
import { readCodes } from '../reference/arrow';
import { Draws } from '../reference/random';

export interface Work {
  readonly name: string;
  /** Steps of which each call fails in turn, where others than usual. */
  readonly errorSteps?: number;
  /** What the folder of the work holds before the first step: inputs. */
  prepare(root: string): void;
  /** From state `from` to the next. */
  step(root: string, from: number): Promise<unknown>;
  /** What is there, in words; null before the first step. Throws when it cannot be read. */
  found(root: string): Promise<string | null>;
  /** What must be there in a state. */
  expected(state: number): string | null;
}

const DIMENSIONS = 4;

function vectorsOf(state: number): number[][] {
  const draws = new Draws(`state ${state}`);
  return Array.from({ length: 1 + draws.integer(6) }, () => [...draws.gaussians(DIMENSIONS)]);
}

const KINDS = [
  'save',
  'append',
  'remove',
  'append',
  'compact',
  'save',
  'optimize',
  'replace',
] as const;

interface Change {
  readonly kind: (typeof KINDS)[number];
  readonly added: readonly { id: string; vector: number[] }[];
  readonly removed: readonly string[];
}

/** The change that leads from state `from` to the next; a row stays for 20 states. */
function changeFrom(from: number): Change {
  const kind = from === 0 ? 'save' : KINDS[from % KINDS.length];
  const added =
    kind === 'save' || kind === 'append'
      ? vectorsOf(from).map((vector, i) => ({ id: `${from}/${i}`, vector }))
      : [];
  const idsOf = (state: number) => (state < 0 ? [] : changeFrom(state).added.map(({ id }) => id));
  if (kind === 'remove') return { kind, added, removed: [idsOf(from - 1)[0], ...idsOf(from - 23)] };
  if (kind === 'save') return { kind, added, removed: idsOf(from - 21) };
  if (kind !== 'replace') return { kind, added, removed: [] };
  // The last row of the append five states before gets another vector.
  const id = idsOf(from - 4).at(-1) as string;
  return { kind, added: [{ id, vector: vectorsOf(from)[0] }], removed: [] };
}

const hasher = new api.SimHasher({ bits: 24, dimensions: DIMENSIONS });
const models: Map<string, string>[] = [new Map()];

/** Codes by id, of a state. */
function modelOf(state: number): Map<string, string> {
  while (models.length <= state) {
    const { added, removed } = changeFrom(models.length - 1);
    const model = new Map(models.at(-1));
    for (const { id, vector } of added) model.set(id, hex(hasher.hash(vector)));
    for (const id of removed) model.delete(id);
    models.push(model);
  }
  return models[state];
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const inWords = (state: number, codes: ReadonlyMap<string, string>) =>
  `${state}: ${[...codes].sort().join(' ')}`;

/** Generations of an index folder: saved, appended to, removed from, compacted, optimized. */
const folder: Work = {
  name: 'folder',
  prepare: () => undefined,
  async step(root, from) {
    const path = join(root, 'docs.hs');
    const { kind, added, removed } = changeFrom(from);
    const vectors = added.map(({ vector }) => vector);
    const ids = added.map(({ id }) => id);
    if (from === 0) {
      const index = new api.SimHashIndex({ bits: 24, dimensions: DIMENSIONS, vectors: 'float32' });
      await index.addAll(vectors, ids);
      return api.saveIndex(index, path);
    }
    const opened = await api.IndexFolder.open(path);
    if (kind === 'append') return opened.append(vectors, ids);
    if (kind === 'remove') return opened.remove(removed);
    if (kind === 'compact') return opened.compact();
    const optimize = { k: 2, queries: 4, partitions: 2, recall: 0.5 };
    // Every second time without loading it.
    if (kind === 'optimize' && from % 16 < 8)
      return opened.optimize({ ...optimize, memory: '64KB' });
    const index = await api.openIndex(path);
    for (const { id, vector } of added) index.set(vector, id);
    for (const id of removed) index.remove(id);
    if (kind === 'optimize') await index.optimize(optimize);
    return api.saveIndex(index, path);
  },
  async found(root) {
    const path = join(root, 'docs.hs');
    if (!existsSync(path)) return null;
    let opened: api.IndexFolder;
    try {
      opened = await api.IndexFolder.open(path);
    } catch (error) {
      if (/no manifest/.test((error as Error).message)) return null; // no save was committed
      throw error;
    }
    const index = await opened.index();
    const codes = new Map<string, string>();
    for (let row = 0; codes.size < index.count; row++) {
      const id = index.idOf(row);
      if (id !== undefined) codes.set(id as string, hex(index.get(id)?.code as Uint8Array));
    }
    return inWords(opened.generation, codes);
  },
  expected: (state) => (state === 0 ? null : inWords(state, modelOf(state))),
};

/** Builds, each in the place of the one before. */
const build: Work = {
  name: 'build',
  errorSteps: 2,
  prepare: () => undefined,
  async step(root, from) {
    const vectors = vectorsOf(from + 1).map((vector, i) => vector.map((value) => value * (i + 1)));
    const batches = vectors.map((vector, i) => ({ vectors: [vector], ids: [`${from + 1}/${i}`] }));
    await api.IndexFolder.build(join(root, 'docs.hs'), batches, {
      ...{ bits: 24, dimensions: DIMENSIONS, vectors: 'int8', zero: 'null' },
      ...{ memory: '64KB', replace: true, optimize: { k: 1, queries: 2, partitions: 1 } },
    });
  },
  async found(root) {
    const path = join(root, 'docs.hs');
    if (!existsSync(path)) return null;
    try {
      const index = await (await api.IndexFolder.open(path)).index();
      return `${index.count} rows, the first is ${String(index.idOf(0))}`;
    } catch (error) {
      if (/no manifest/.test((error as Error).message)) return null; // no build was committed
      throw error;
    }
  },
  expected: (state) =>
    state === 0 ? null : `${vectorsOf(state).length} rows, the first is ${state}/0`,
};

const SPILLED_ROWS = 80;
const BATCH_ROWS = 10;

/** Rows that state `from` adds: more than the limits of `spill` hold. */
function spilledFrom(from: number): { ids: string[]; vectors: number[][] }[] {
  const draws = new Draws(`spilled ${from}`);
  return Array.from({ length: SPILLED_ROWS / BATCH_ROWS }, (_, batch) => ({
    ids: Array.from({ length: BATCH_ROWS }, (_, i) => `${from}/${BATCH_ROWS * batch + i}`),
    vectors: Array.from({ length: BATCH_ROWS }, () => [...draws.gaussians(DIMENSIONS)]),
  }));
}

/** The steps whose rows are there in a state: a build, and up to two that append. */
const spilledIn = (state: number) =>
  Array.from({ length: 1 + ((state - 1) % 3) }, (_, i) => state - 1 - ((state - 1) % 3) + i);

/**
 * Builds and appends of more rows than their limits of memory hold: a change writes several
 * segments and merges them before it is published.
 */
const spill: Work = {
  name: 'spill',
  errorSteps: 2,
  prepare: () => undefined,
  async step(root, from) {
    const path = join(root, 'docs.hs');
    const batches = spilledFrom(from);
    if (from % 3 === 0) {
      const optimize = { k: 1, queries: 2, partitions: 2, recall: 0.5 };
      const index = { bits: 24, dimensions: DIMENSIONS, vectors: 'float32' } as const;
      const built = await api.IndexFolder.build(path, batches, {
        ...{ ...index, memory: 10_000, replace: true, optimize },
      });
      checkSpilled(built, 5); // two of the rows, and two that are placed in partitions and merged
      return;
    }
    const opened = await api.IndexFolder.open(path);
    await opened.appendAll(batches, { replace: false, memory: 4096 });
    checkSpilled(opened, 5);
  },
  async found(root) {
    const path = join(root, 'docs.hs');
    if (!existsSync(path)) return null;
    let opened: api.IndexFolder;
    try {
      opened = await api.IndexFolder.open(path);
    } catch (error) {
      if (/no manifest/.test((error as Error).message)) return null; // no build was committed
      throw error;
    }
    const index = await opened.index();
    const rows = spilledIn(opened.generation).flatMap(spilledFrom);
    const found = rows.flatMap(({ ids }) => ids.map((id) => `${id}=${codeOf(index.get(id))}`));
    return `${opened.generation}, ${index.count} rows: ${found.join(' ')}`;
  },
  expected(state) {
    if (state === 0) return null;
    const known = SPILLED.get(state);
    if (known !== undefined) return known; // a reader compares with a thousand states
    const rows = spilledIn(state).flatMap(spilledFrom);
    const all = rows.flatMap(({ ids, vectors }) =>
      ids.map((id, i) => `${id}=${hex(hasher.hash(vectors[i]))}`),
    );
    const expected = `${state}, ${all.length} rows: ${all.join(' ')}`;
    SPILLED.set(state, expected);
    return expected;
  },
};

const SPILLED = new Map<number, string>();

const codeOf = (row: api.IndexRow | undefined) =>
  row === undefined || row.code === null ? 'none' : hex(row.code);

/** Fails where a change did not write as many segments as it was made for. */
function checkSpilled(folder: api.IndexFolder, written: number): void {
  const rows = folder.files.filter(({ kind }) => kind === 'rows');
  // A name has the number of files that the change wrote before this one, three a segment.
  const before = Number(/^rows-\d+-(\d+)-/.exec(rows.at(-1)?.name ?? '')?.[1]);
  if (before >= 3 * (written - 1)) return;
  throw new Error(`no change that spills: it wrote ${before} files before its last rows`);
}

const ROWS = 40;
/** Rows of a source, and a plan over them that is another one in every state. */
const codes = api.Codes.from(new Draws('source').bytes(ROWS), { bits: 8 });
const PLANS = await Promise.all(
  [0, 1, 2, 3].map((maxDistance) => api.dedup(codes, { maxDistance })),
);
const planOf = (state: number) => PLANS[state % 4];

/** A file that is written again in every state: whole, by whatever writer. */
function file(
  name: string,
  output: string,
  write: (path: string, state: number) => Promise<unknown>,
  read: (path: string) => Promise<string>,
  expected: (state: number) => string,
  errorSteps?: number,
): Work {
  return {
    ...{ name, errorSteps },
    prepare: (root) => {
      const lines = Array.from({ length: ROWS }, (_, i) => `{"id":${i}}\n`);
      writeFileSync(join(root, 'source.jsonl'), lines.join(''));
    },
    step: (root, from) => write(join(root, output), from + 1),
    found: async (root) => (existsSync(join(root, output)) ? read(join(root, output)) : null),
    expected: (state) => (state === 0 ? null : expected(state)),
  };
}

const keptOf = (plan: { kept: Uint8Array }) => plan.kept.join('');

const plan = file(
  'plan',
  'plan.csv',
  (path, state) => api.writePlan(path, planOf(state)),
  async (path) => keptOf(await api.readPlan(path)),
  (state) => keptOf(planOf(state)),
);

const applied = file(
  'apply-plan',
  'kept.jsonl',
  (path, state) => {
    const source = join(path, '../source.jsonl');
    return api.applyPlan(planOf(state), source, path, { column: null });
  },
  async (path) => readFileSync(path, 'utf8'),
  (state) => {
    const { kept } = planOf(state);
    return Array.from(kept, (isKept, i) => (isKept ? `{"id":${i}}\n` : '')).join('');
  },
);

const PAIRS = 20;
/** Pairs of equal codes: of pair i the second row stays where bit i of the state is set. */
const pairs = api.Codes.from(
  Uint8Array.from({ length: 2 * PAIRS }, (_, row) => row >> 1),
  { bits: 8 },
);

const NOT_REVIEWED = await api.dedup(pairs, { maxDistance: 0 });

function reviewedPlan(state: number): api.DedupPlan {
  const plan = structuredClone(NOT_REVIEWED);
  for (let pair = 0; pair < PAIRS; pair++) {
    const [kept, dropped] = (state >> pair) % 2 === 0 ? [0, 1] : [1, 0];
    plan.kept[2 * pair + kept] = 1;
    plan.kept[2 * pair + dropped] = 0;
    for (const row of [0, 1]) plan.duplicateOf[2 * pair + row] = 2 * pair + kept;
  }
  return plan;
}

const decisionsOf = ({ kept, duplicateOf }: api.DedupPlan) => `${kept.join('')} ${duplicateOf}`;

/** Decisions of a review: the plan is read, saved as it is, then with what was decided. */
const review = file(
  'review',
  'plan.csv',
  async (path, state) => {
    const own = new PlanFile(path, '', null);
    if (!existsSync(path)) return api.writePlan(path, reviewedPlan(state));
    const plan = await own.read(2 ** 22);
    await own.save(plan);
    const next = reviewedPlan(state);
    plan.kept.set(next.kept);
    plan.duplicateOf.set(next.duplicateOf);
    await own.save(plan);
  },
  async (path) => decisionsOf(await api.readPlan(path)),
  (state) => decisionsOf(reviewedPlan(state)),
  3,
);

const codesFor = (state: number) => api.Codes.from(new Draws(state).bytes(900), { bits: 72 });

const codeFile = file(
  'codes',
  'codes.arrow',
  async (path, state) => {
    const output = await api.createRows(path, { force: true });
    await output.write(api.RowBatch.of({ code: codesFor(state) }));
    await output.close();
  },
  async (path) => hex((await readCodes(path)).codes.bytes),
  (state) => hex(codesFor(state).bytes),
);

const numbersOf = (state: number) => Array.from({ length: 50 }, (_, i) => state * i);

const rows = file(
  'rows',
  'output',
  async (path, state) => {
    const format = (['csv', 'jsonl', 'arrow', 'parquet'] as const)[state % 4];
    const writer = await api.createRows(path, { format, force: true });
    const numbers = numbersOf(state);
    for (const part of [numbers.slice(0, 20), numbers.slice(20)]) {
      await writer.write(api.RowBatch.of({ n: part }));
    }
    await writer.close();
  },
  async (path) => {
    const bytes = readFileSync(path); // once: the next state may take its place meanwhile
    const head = bytes.subarray(0, 3).toString('latin1');
    const heads = { PAR: 'parquet', ARR: 'arrow', '{"n': 'jsonl' } as const;
    const format = head in heads ? heads[head as keyof typeof heads] : 'csv';
    const source = (async function* () {
      yield bytes;
    })();
    const found: unknown[] = [];
    for await (const batch of await api.openRows(source, { format })) {
      for (const value of batch.values('n')) found.push(value);
    }
    return found.join();
  },
  (state) => numbersOf(state).join(),
);

export const WORKS: readonly Work[] = [folder, build, spill, plan, review, applied, codeFile, rows];

/** A writer as it must not be, by which the faults themselves are tested. */
const inPlace = file(
  'in-place',
  'output',
  async (path, state) => {
    const target = await open(path, 'w');
    try {
      for (const byte of codesFor(state).bytes) await target.write(Uint8Array.of(byte), 0, 1);
    } finally {
      await target.close();
    }
  },
  async (path) => hex(readFileSync(path)),
  (state) => hex(codesFor(state).bytes),
);

export function workOf(name: string): Work {
  const work = [...WORKS, inPlace].find((one) => one.name === name);
  if (work === undefined) throw new Error(`no work ${name}`);
  return work;
}

/** Fails unless what is there is one of these states; returns which. */
export async function stateOf(work: Work, root: string, from: number, to: number): Promise<number> {
  const found = await work.found(root);
  for (let state = to; state >= from; state--) if (found === work.expected(state)) return state;
  const short = (text: string | null) => (text === null ? 'nothing' : text.slice(0, 120));
  const wanted = short(work.expected(to));
  throw new Error(`${work.name}: ${short(found)}, expected state ${from} to ${to}: ${wanted}`);
}
