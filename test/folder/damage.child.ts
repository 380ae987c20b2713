/**
 * Opens a folder with one file damaged, in every way in turn, and prints what was seen as JSON. In
 * a process of its own: a hang can be ended there, and the heap is small.
 */

import { mkdtempSync, readdirSync, readFileSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { IndexFolder } from '../../src/folder/index-folder';
import { FormatError } from '../../src/index';
import { scratch } from '../reference/scratch';
import { answersOf, writeSmallFolder } from './small-folder';

export interface FileDamage {
  name: string;
  bytes: number;
  /** Damaged folders that were opened, and what came of it. */
  opened: number;
  refused: number;
  equal: number;
  slowestMs: number;
  /** What must not be, the first few. */
  failures: string[];
}

const root = mkdtempSync(join(scratch(), 'halfspace-damage-'));
const folder = join(root, 'small.hs');

async function sweep(name: string): Promise<FileDamage> {
  const kind = name.replace(/-.*/, '');
  const sound = await answersOf(folder, kind);
  const path = join(folder, name);
  const bytes = readFileSync(path);
  const damage: FileDamage = {
    ...{ name, bytes: bytes.length, opened: 0, refused: 0, equal: 0, slowestMs: 0, failures: [] },
  };
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
  for (let length = 0; length < bytes.length; length++) {
    writeFileSync(path, bytes.subarray(0, length));
    await open(`cut to ${length}`, length % 50 === 0);
  }
  const changed = Buffer.from(bytes);
  for (let at = 0; at < bytes.length; at++) {
    changed[at] ^= 1 << (at % 8);
    writeFileSync(path, changed);
    await open(`byte ${at} from ${bytes[at]} to ${changed[at]}`, at % 50 === 0);
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
  const { files } = JSON.parse(readFileSync(join(folder, newest as string), 'utf8'));
  const names = [...files.map((file: { name: string }) => file.name), newest, 'manifest.json'];
  const found: FileDamage[] = [];
  for (const name of names) found.push(await sweep(name));
  const { problems } = await IndexFolder.verify(folder);
  if (problems.length > 0) throw new Error('the folder is not as it was');
  process.stdout.write(JSON.stringify(found));
} finally {
  rmSync(root, { recursive: true });
}
