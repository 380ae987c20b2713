/**
 * Opens damaged files by the thousand and prints, as JSON, what was seen. In a separate process: a
 * hang can be ended there, and the heap is small. Arguments: 'ours' or 'others', the fixtures' folder,
 * and for the files of others a seed and how many changes to each.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { tableFromIPC, tableToIPC } from 'apache-arrow';
import seedrandom from 'seedrandom';
import { Codes, codesFromArrow, codesToArrow, FormatError } from '../../src/index';
import { sparseFromArrow, vectorsFromArrow } from '../reference/arrow';
import { allocated } from './allocations'; // first: it must see the libraries' constructors
import { note } from './child-note';

export interface Sweep {
  name: string;
  opened: number;
  /** Opened with the answer of the sound file. */
  equal: number;
  refused: number;
  slowestMs: number;
  /** Most bytes that one open asked for, whether it got them or not. */
  largestBytes: number;
  /** What must not be, the first few. */
  failures: string[];
}

const [sweep, fixtures, seed, changes] = process.argv.slice(2);
const LABEL = 'folder/damaged.arrow';

type Read = (bytes: Uint8Array, file: string) => unknown;

/** All that a reader answers, as text to compare. */
function codesOf(bytes: Uint8Array, options: object): string {
  const { codes, ids } = codesFromArrow(bytes, options);
  const { bits, count, origin } = codes;
  const nulls = Array.from({ length: count }, (_, row) => codes.isNull(row));
  const hex = Buffer.from(codes.bytes).toString('hex');
  const kind = ids?.constructor.name;
  return JSON.stringify({
    bits,
    count,
    origin,
    nulls,
    hex,
    kind,
    ids: ids && Array.from(ids, String),
  });
}

class Sweeper {
  readonly #sweep: Sweep;
  readonly #read: Read;
  readonly #expected: unknown;

  /** `expected` is what an open may answer; anything may be where it is left out. */
  constructor(name: string, read: Read, expected?: unknown) {
    this.#sweep = {
      ...{ name, opened: 0, equal: 0, refused: 0, slowestMs: 0, largestBytes: 0, failures: [] },
    };
    this.#read = read;
    this.#expected = expected;
  }

  open(bytes: Uint8Array, what: string): void {
    const sweep = this.#sweep;
    sweep.opened++;
    note(`${sweep.name}: ${what}`);
    const start = performance.now();
    const { bytes: wanted } = allocated(() => this.#outcome(bytes, what));
    sweep.slowestMs = Math.max(sweep.slowestMs, performance.now() - start);
    if (wanted > sweep.largestBytes) sweep.largestBytes = wanted;
    if (wanted > 16 << 20) this.#fail(what, `asked for ${wanted} bytes`);
  }

  #outcome(bytes: Uint8Array, what: string): void {
    try {
      const answer = this.#read(bytes, LABEL);
      if (this.#expected === undefined || answer === this.#expected) this.#sweep.equal++;
      else this.#fail(what, `another answer, ${String(answer).slice(0, 200)}`);
    } catch (error) {
      this.#sweep.refused++;
      const isRefusal = error instanceof FormatError && error.message.startsWith(`${LABEL}: `);
      if (isRefusal) return;
      if (this.#expected === undefined && isWrongColumn(error)) return;
      this.#fail(what, error instanceof Error ? `${error.stack}`.slice(0, 400) : String(error));
    }
  }

  #fail(what: string, message: string): void {
    if (this.#sweep.failures.length < 20) this.#sweep.failures.push(`${what}: ${message}`);
  }

  result(): Sweep {
    return this.#sweep;
  }
}

/** Our own words for a column that is not there or not of the type that was asked for. */
function isWrongColumn(error: unknown): boolean {
  const words = /^(no column "|"(column|id|indices|values)" must name the |column ".*" of type )/s;
  return (error instanceof RangeError || error instanceof TypeError) && words.test(error.message);
}

/** The values that a byte is changed to. */
function otherBytes(byte: number): number[] {
  const others = [byte ^ 0x01, byte ^ 0x80, byte ^ 0xff, (byte + 1) & 0xff, 0, 0xff];
  return [...new Set(others)].filter((other) => other !== byte);
}

function* ourFiles(): Generator<{ name: string; bytes: Uint8Array }> {
  const folder = new URL('golden/', fixtures);
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.arrow'))) {
    const bytes = Uint8Array.from(readFileSync(new URL(name, folder))); // a Buffer's slice is no copy
    yield { name, bytes };
    yield { name: `${name} as a stream`, bytes: tableToIPC(tableFromIPC(bytes), 'stream') };
  }
}

function sweepCuts(name: string, sound: Uint8Array): Sweep {
  const expected = codesOf(sound, {});
  const sweeper = new Sweeper(`${name}, cut`, (bytes, file) => codesOf(bytes, { file }), expected);
  for (let length = 0; length < sound.length; length++) {
    sweeper.open(sound.slice(0, length), `first ${length} bytes`);
  }
  return sweeper.result();
}

function sweepBytes(name: string, sound: Uint8Array, positions: Iterable<number>): Sweep {
  const expected = codesOf(sound, {});
  const read: Read = (bytes, file) => codesOf(bytes, { file });
  const sweeper = new Sweeper(`${name}, a byte changed`, read, expected);
  const bytes = sound.slice();
  for (const at of positions) {
    for (const other of otherBytes(sound[at])) {
      bytes[at] = other;
      sweeper.open(bytes, `byte ${at} from ${sound[at]} to ${other}`);
    }
    bytes[at] = sound[at];
  }
  return sweeper.result();
}

/** Two batches of codes; of their bodies only a few bytes are changed. */
function sweepTwoBatches(): Sweep {
  const count = 65_536 + 40;
  const bytes = codesToArrow(Codes.allocate(count, { bits: 8 }));
  const isBody = (at: number) => at > 2_000 && at < count - 1_000;
  const positions = Array.from(bytes, (_, at) => at).filter((at) => !isBody(at));
  return sweepBytes('two batches', bytes, positions);
}

/** Files without a checksum may give any answer, but no other error, and soon. */
function sweepOthers(): Sweep[] {
  const folder = new URL('arrow/', fixtures);
  const names = readdirSync(folder).filter((name) => /\.arrows?$/.test(name));
  return names.map((name) => {
    const json = new URL(name.replace(/\.arrows?$/, '.json'), folder);
    const { reads, options } = JSON.parse(readFileSync(json, 'utf8'));
    type Reader = (source: Uint8Array, options: object) => unknown;
    const readers: Record<string, Reader> = {
      codes: codesFromArrow,
      vectors: vectorsFromArrow,
      sparse: sparseFromArrow,
    };
    const reader = readers[reads];
    const sweeper = new Sweeper(name, (bytes, file) => reader(bytes, { ...options, file }));
    const random = seedrandom(`${seed} ${name}`);
    const sound = readFileSync(new URL(name, folder));
    for (let change = 0; change < Number(changes); change++) {
      const bytes = Uint8Array.from(sound);
      const at = Math.floor(random() * bytes.length);
      const others = otherBytes(bytes[at]);
      bytes[at] = others[Math.floor(random() * others.length)];
      sweeper.open(bytes, `byte ${at} from ${sound[at]} to ${bytes[at]}`);
    }
    return sweeper.result();
  });
}

function sweepOurs(): Sweep[] {
  const sweeps = [sweepTwoBatches()];
  for (const { name, bytes } of ourFiles()) {
    sweeps.push(sweepCuts(name, bytes), sweepBytes(name, bytes, bytes.keys()));
  }
  return sweeps;
}

const sweeps = sweep === 'ours' ? sweepOurs() : sweepOthers();
process.stdout.write(JSON.stringify(sweeps));
