/**
 * Faults of the machine under every writer: kills, lost power, calls that fail. Also the process that
 * is killed: `work NAME FOLDER` goes from state to state until its death.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { IndexFolder } from '../../src/node';
import { Draws } from '../reference/random';
import { scratch } from '../reference/scratch';
import { type Event, recorder, startRecording } from './traced-fs';
import { stateOf, type Work, workOf } from './works';

/** A new folder for one run, gone when `use` is over, as are the processes that work in it. */
async function inFolder<T>(use: (root: string) => Promise<T>): Promise<T> {
  const root = mkdtempSync(join(scratch(), 'halfspace-faults-'));
  try {
    return await use(root);
  } finally {
    await Promise.all([...children].map((child) => child.kill()));
    rmSync(root, { recursive: true, force: true });
  }
}

/** The child: steps until it is killed; each state that is reached is printed. */
export async function workUntilKilled(name: string, root: string): Promise<void> {
  const work = workOf(name);
  writeSync(1, 'ready\n');
  await new Promise((resolve) => process.stdin.once('data', resolve));
  let from = 0;
  for (const found = await work.found(root); found !== work.expected(from); ) from++;
  for (; ; from++) {
    await work.step(root, from);
    writeSync(1, `${from + 1}\n`);
  }
}

/** A reader next to the one who is killed: every answer is a whole state, and none goes back. */
export async function readUntilKilled(name: string, root: string): Promise<void> {
  const work = workOf(name);
  let state = 0;
  for (let reads = 0; ; reads++) {
    try {
      state = await stateOf(work, root, state, state + 1000);
    } catch (error) {
      const isGone = /was saved since|come and go too fast/.test((error as Error).message);
      if (!isGone) throw error;
    }
    if (reads % 10 === 0) writeSync(1, `${reads} reads\n`);
  }
}

const children = new Set<Child>();
process.on('exit', async () => {
  for (const child of children) await child.kill();
});

class Child {
  readonly #process: ChildProcess;
  output = '';
  errors = '';
  readonly end: Promise<void>;

  constructor(args: readonly string[]) {
    this.#process = spawn(process.execPath, [process.argv[1], ...args]);
    children.add(this);
    this.#process.stdout?.on('data', (data) => (this.output += data));
    this.#process.stderr?.on('data', (data) => (this.errors += data));
    this.#process.stdin?.on('error', () => undefined);
    this.end = new Promise((resolve) => this.#process.on('close', () => resolve()));
    this.end.then(() => children.delete(this));
  }

  /** Waits until it has printed what is meant, or its end. */
  async printed(what: RegExp): Promise<void> {
    let isOver = false;
    this.end.then(() => (isOver = true));
    while (!isOver && !what.test(this.output)) await pause(2);
  }

  go(): void {
    this.#process.stdin?.write('go\n');
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.end;
  }

  /** The last number that it printed. */
  get last(): number | null {
    const found = [...this.output.matchAll(/^(\d+)$/gm)].at(-1);
    return found ? Number(found[1]) : null;
  }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
/** How long a step may take at least; what it does take is measured, lest a busy machine has none. */
const LEAST_STEP_MS = 20;

/** Half of the faults are of index folders, which have the most to lose. */
function shareOf(work: Work, works: readonly Work[], count: number): number {
  if (works.length === 1) return count;
  return Math.ceil(count / (work.name === 'folder' ? 2 : 2 * (works.length - 1)));
}

/** Kills of children at random moments; each leaves the state that it told, or the next. */
export async function kills(works: readonly Work[], count: number, seed: string): Promise<string> {
  const draws = new Draws(seed);
  let [died, reads] = [0, 0];
  for (const work of works) {
    const share = shareOf(work, works, count);
    await inFolder(async (root) => {
      work.prepare(root);
      let [state, stepMs] = [0, LEAST_STEP_MS];
      const start = () => new Child(['work', work.name, root]);
      const reader = new Child(['read', work.name, root]);
      let waiting = start(); // to start takes longer than to die
      for (let kill = 0; kill < share; kill++, died++) {
        const child = waiting;
        waiting = start();
        await child.printed(/ready/);
        const begun = performance.now();
        child.go();
        // Some die in their first step, most in a later one; the last one always, so that the states
        // of few kills go on too.
        if (draws.integer(4) > 0 || kill === share - 1) {
          await child.printed(/^\d+$/m);
          stepMs = Math.max(LEAST_STEP_MS, performance.now() - begun);
        }
        await pause(draws.uniform() * 1.5 * stepMs);
        await child.kill();
        if (child.errors !== '') throw new Error(`${work.name}: ${child.errors}`);
        const told = child.last ?? state;
        state = await stateOf(work, root, told, told + 1);
        if (work.name === 'folder' && state > 0 && kill % 10 === 0) await checkSound(root);
      }
      await waiting.kill();
      await reader.kill();
      if (reader.errors !== '') throw new Error(`a reader of ${work.name}: ${reader.errors}`);
      reads += Number(
        reader.output
          .match(/(\d+) reads/g)
          ?.at(-1)
          ?.replace(' reads', '') ?? 0,
      );
      if (state < 1 || state < share / 4)
        throw new Error(`${work.name}: ${share} kills and ${state} steps`);
    });
  }
  return `${died} kills, ${reads} reads next to them`;
}

async function checkSound(root: string): Promise<void> {
  const { problems } = await IndexFolder.verify(join(root, 'docs.hs'));
  const own = problems.filter(({ file }) => file !== 'manifest.json'); // a copy, for people
  if (own.length > 0) throw new Error(`verify: ${JSON.stringify(own)}`);
}

/** Steps of a work with all that reached the file system; `done` follows each step. */
async function recorded(work: Work, steps: number): Promise<{ root: string; events: Event[] }> {
  return inFolder(async (root) => {
    work.prepare(root);
    const events = startRecording();
    for (let state = 0; state < steps; state++) {
      await work.step(root, state);
      events.push({ kind: 'done', state: state + 1 });
    }
    recorder.events = null;
    return { root, events };
  });
}

const SECTOR_BYTES = 512;

/** What of a file survives: all that was synced, and of the rest whatever the disk had time for. */
function contentAfter(events: readonly Event[], file: number, draws: Draws): Uint8Array {
  const own = events.filter((one) => 'file' in one && one.file === file);
  const synced = own.map(({ kind }) => kind).lastIndexOf('sync');
  const writes = own.flatMap((one, i) =>
    one.kind === 'write' ? [{ ...one, isSafe: i < synced }] : [],
  );
  const length = writes.reduce((end, { at, bytes }) => Math.max(end, at + bytes.length), 0);
  const content = new Uint8Array(length);
  let end = 0;
  const fate = draws.pick(['all', 'none', 'torn', 'torn'] as const);
  for (const { at, bytes, isSafe } of writes) {
    for (let from = 0; from < bytes.length || from === 0; from += SECTOR_BYTES) {
      const isKept = isSafe || fate === 'all' || (fate === 'torn' && draws.integer(2) === 0);
      if (!isKept) continue;
      const part = bytes.subarray(from, from + SECTOR_BYTES);
      content.set(part, at + from);
      end = Math.max(end, at + from + part.length);
    }
  }
  // The length may be on the disk before the bytes are.
  return content.subarray(0, draws.integer(4) === 0 ? length : end);
}

/** The names that survive: those of synced folders, and some of the later changes, in any order. */
function namesAfter(events: readonly Event[], draws: Draws): Map<string, number> {
  const names = new Map<string, number>();
  const isLost = new Set<Event>();
  const later = new Map<string, Event[]>();
  for (const event of events) {
    if (event.kind === 'sync folder') later.delete(event.path);
    else if ('path' in event)
      later.set(dirname(event.path), [...(later.get(dirname(event.path)) ?? []), event]);
  }
  const share = draws.integer(4); // none lost, to nearly all
  for (const group of later.values()) {
    for (const event of group) if (draws.integer(4) < share) isLost.add(event);
  }
  for (const event of events) {
    if (isLost.has(event)) continue;
    if (event.kind === 'create' || event.kind === 'folder') names.set(event.path, event.file);
    if (event.kind === 'link') names.set(event.path, event.file);
    if (event.kind === 'remove') names.delete(event.path);
    if (event.kind === 'rename') {
      names.set(event.path, event.file);
      names.delete(event.from);
    }
  }
  return names;
}

/** Puts what survives into a folder; a file of two names has them both. */
function restore(root: string, recordedRoot: string, events: readonly Event[], draws: Draws): void {
  const names = namesAfter(events, draws);
  const paths = new Map<number, string>();
  for (const [path, file] of [...names].sort((a, b) => a[0].length - b[0].length)) {
    const target = join(root, path.slice(recordedRoot.length));
    if (file === 0) mkdirSync(target, { recursive: true });
    else if (!existsSync(dirname(target)))
      continue; // its folder is lost
    else if (paths.has(file)) linkSync(paths.get(file) as string, target);
    else {
      writeFileSync(target, contentAfter(events, file, draws));
      paths.set(file, target);
    }
  }
}

const STEPS_OF_TRACE = 17;

/** Power lost at any moment of a trace: the last state that was done, or the one at work, is there. */
export async function losses(works: readonly Work[], count: number, seed: string): Promise<string> {
  let lost = 0;
  for (const work of works) {
    const { root: before, events } = await recorded(work, STEPS_OF_TRACE);
    const share = shareOf(work, works, count);
    for (let loss = 0; loss < share; loss++, lost++) {
      const name = `${seed} ${work.name} ${loss}`;
      const draws = new Draws(name);
      const past = events.slice(0, 1 + draws.integer(events.length));
      const done = past.reduce((state, one) => (one.kind === 'done' ? one.state : state), 0);
      await inFolder(async (root) => {
        restore(root, before, past, draws);
        try {
          const state = await stateOf(work, root, done, done + 1);
          if (work.name === 'folder' && state > 0 && loss % 10 === 0) await checkSound(root);
          // What is left is no hindrance to the next step.
          if (loss % 5 > 0 || work.name === 'apply-plan') return;
          await work.step(root, state);
          await stateOf(work, root, state + 1, state + 1);
        } catch (error) {
          throw new Error(`power lost, ${name}: ${(error as Error).stack}`);
        }
      });
    }
  }
  return `${lost} losses of power`;
}

const CODES = ['EIO', 'ENOSPC', 'EROFS', 'EACCES'];
const STEPS_WITH_ERRORS = 9;

/** Names of folders and files below a folder, with the bytes of the files. */
function contentOf(root: string): ReadonlyMap<string, Uint8Array | null> {
  const entries = readdirSync(root, { recursive: true, withFileTypes: true });
  return new Map(
    entries.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return [path.slice(root.length), entry.isFile() ? readFileSync(path) : null];
    }),
  );
}

function areEqual(one: ReturnType<typeof contentOf>, other: ReturnType<typeof contentOf>): boolean {
  const isSame = ([name, bytes]: [string, Uint8Array | null]) => {
    const own = other.get(name);
    if (own === undefined || own === null || bytes === null) return own === bytes;
    return Buffer.compare(own, bytes) === 0;
  };
  return one.size === other.size && [...one].every(isSame);
}

/**
 * One step with one call failing; false when there is no such call any more. Where nothing is left of
 * the step, its folder is not read: the sound one that it equals is, and goes on, once for all calls.
 */
async function failingCall(work: Work, root: string, step: number, call: number): Promise<boolean> {
  const before = contentOf(root);
  const code = CODES[call % CODES.length];
  Object.assign(recorder, { count: 0, failing: call, code });
  const error = await work.step(root, step).then(
    () => null,
    (cause: unknown) => cause as Error,
  );
  recorder.failing = -1;
  if (recorder.count <= call) return false;
  const open = [...recorder.open].map(({ path }) => path);
  recorder.open.clear();
  try {
    if (open.length > 0) throw new Error(`left open: ${open.join()}`);
    if (error !== null && !error.message.includes(code)) throw error;
    if (error !== null && areEqual(before, contentOf(root))) return true;
    const state = await stateOf(work, root, error === null ? step + 1 : step, step + 1);
    const left = readdirSync(root).filter((name) => name.endsWith('.tmp'));
    if (left.length > 0) throw new Error(`left behind: ${left.join()}`);
    if (state === step) await work.step(root, step);
    await stateOf(work, root, step + 1, step + 1);
  } catch (problem) {
    const where = `${work.name}, step ${step}, call ${call} fails with ${code}`;
    throw new Error(`${where}: ${(problem as Error).stack}`);
  }
  return true;
}

/** Every call of every step fails in turn: the state before or after is there, and can go on. */
export async function errors(works: readonly Work[]): Promise<string> {
  let failed = 0;
  for (const work of works) {
    await inFolder(async (sound) => {
      work.prepare(sound);
      for (let step = 0; step < (work.errorSteps ?? STEPS_WITH_ERRORS); step++) {
        for (let call = 0; ; call++, failed++) {
          const isThere = await inFolder(async (root) => {
            cpSync(sound, root, { recursive: true });
            return failingCall(work, root, step, call);
          });
          if (!isThere) break;
        }
        await work.step(sound, step);
        await stateOf(work, sound, step + 1, step + 1);
      }
    });
  }
  return `${failed} failing calls`;
}
