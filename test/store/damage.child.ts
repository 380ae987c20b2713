/**
 * Opens a folder with one file damaged, in one way after another, and prints what was seen as JSON. In
 * a process of its own: a hang can be ended there, and the heap is small.
 *
 * A checksum covers each file as a whole, so bytes in the middle are alike to a reader and some of
 * them stand for all. Every byte of manifests, and of both ends of each file, is changed.
 */

import { mkdtempSync, readdirSync, readFileSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FormatError } from '../../src/index';
import { IndexFolder } from '../../src/store/index-folder';
import { scratch } from '../reference/scratch';
import { answersOf, writeSmallFolder } from './small-folder';

export interface FileDamage {
  name: string;
  bytes: number;
  /** Damaged folders that were opened, of them those with a file cut, and what came of it. */
  opened: number;
  cuts: number;
  refused: number;
  equal: number;
  slowestMs: number;
  /** What must not be, the first few. */
  failures: string[];
}

/** Bytes at each end of a file that are all tried. */
const END_BYTES = 48;
/** How often `verify` looks too. */
const VERIFY_STEP = 60;

/** Places of a file to damage: all near its ends, each `step` between them. */
function* placesOf(length: number, step: number): Generator<number> {
  for (let at = 0; at < length; ) {
    yield at;
    const isEnd = at < END_BYTES || at >= length - END_BYTES;
    at += isEnd ? 1 : Math.max(1, Math.min(step, length - END_BYTES - at));
  }
}

const root = mkdtempSync(join(scratch(), 'halfspace-damage-'));
const folder = join(root, 'small.hs');

async function sweep(name: string, isFirst: boolean): Promise<FileDamage> {
  const kind = name.replace(/-.*/, '');
  const sound = await answersOf(folder, kind);
  const path = join(folder, name);
  const bytes = readFileSync(path);
  const damage: FileDamage = {
    ...{ name, bytes: bytes.length, opened: 0, cuts: 0, refused: 0, equal: 0, slowestMs: 0 },
    failures: [],
  };
  // Of the copy for people nothing is read, of further files of a kind little is new.
  const step = kind === 'manifest' ? 1 : isFirst && name !== 'manifest.json' ? 7 : 61;
  const fail = (message: string) => damage.failures.length < 10 && damage.failures.push(message);
  const open = async (what: string, isTold: boolean) => {
    damage.opened++;
    const start = process.cpuUsage();
    try {
      if ((await answersOf(folder, kind)) === sound) damage.equal++;
      else fail(`${what}: another answer`);
    } catch (error) {
      damage.refused++;
      const isNamed = error instanceof FormatError && error.message.includes(name);
      if (!isNamed) fail(`${what}: ${error instanceof Error ? error.stack : error}`);
    }
    const { user, system } = process.cpuUsage(start);
    damage.slowestMs = Math.max(damage.slowestMs, (user + system) / 1000);
    if (!isTold) return;
    const { problems } = await IndexFolder.verify(folder);
    if (!problems.some(({ file }) => file === name)) fail(`${what}: verify says nothing`);
  };
  for (const length of placesOf(bytes.length, 5 * step)) {
    writeFileSync(path, bytes.subarray(0, length));
    await open(`cut to ${length}`, damage.cuts++ % VERIFY_STEP === 0);
  }
  const changed = Buffer.from(bytes);
  for (const at of placesOf(bytes.length, step)) {
    changed[at] ^= 1 << (at % 8);
    writeFileSync(path, changed);
    await open(`byte ${at} from ${bytes[at]} to ${changed[at]}`, damage.opened % VERIFY_STEP === 0);
    changed[at] = bytes[at];
  }
  writeFileSync(path, Buffer.concat([bytes, Buffer.of(0)]));
  await open('a byte more', true);
  unlinkSync(path);
  if (/^manifest-/.test(name)) {
    // The generation before, which is whole, or no index at all.
    await answersOf(folder, kind).catch(
      (error) => error instanceof FormatError || fail(`${error}`),
    );
  } else await open('gone', name !== 'manifest.json'); // without the copy for people it is sound
  writeFileSync(path, bytes);
  return damage;
}

try {
  await writeSmallFolder(folder);
  const newest = readdirSync(folder)
    .filter((name) => /^manifest-/.test(name))
    .sort()
    .at(-1);
  const names = [
    ...(await IndexFolder.open(folder)).files.map(({ name }) => name),
    newest as string,
    'manifest.json',
  ];
  const found: FileDamage[] = [];
  const kinds = new Set<string>();
  for (const name of names) {
    const kind = name.replace(/-.*/, '');
    found.push(await sweep(name, !kinds.has(kind)));
    kinds.add(kind);
  }
  const { problems } = await IndexFolder.verify(folder);
  if (problems.length > 0) throw new Error('the folder is not as it was');
  process.stdout.write(JSON.stringify(found));
} finally {
  rmSync(root, { recursive: true });
}
