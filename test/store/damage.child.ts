/**
 * Opens a folder with one file damaged, in one way after another, and prints what was seen as JSON. In
 * a process of its own: a hang can be ended there, and the heap is small.
 *
 * A checksum covers each file as a whole, or each block in it, so bytes in the middle are alike to a
 * reader and some of them stand for all. Every byte of manifests, and of both ends of each file, is
 * changed. Of files with blocks the bytes between these are of no use to readers: only `verify`
 * notices what becomes of them.
 */

import { mkdtempSync, readFileSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FormatError } from '../../src/index';
import type { Bodies } from '../../src/store/blocks';
import { openContent } from '../../src/store/content';
import { FolderPlace } from '../../src/store/folder-place';
import { generationsIn, newestManifest } from '../../src/store/generations';
import { bucketOf, hashOfId } from '../../src/store/id-hashes';
import { IndexFolder } from '../../src/store/index-folder';
import { filesOf, type Manifest, manifestName } from '../../src/store/manifest';
import type { ByteRange } from '../../src/table/arrow/messages';
import { scratch } from '../reference/scratch';
import { readersOf, writeHashedFolder, writeSmallFolder } from './small-folder';

export interface FileDamage {
  name: string;
  bytes: number;
  /** Damaged folders that were opened, of them those with a file cut, and what came of it. */
  opened: number;
  cuts: number;
  /** Of them those in which a byte was changed that a reader uses. */
  used: number;
  refused: number;
  equal: number;
  slowestMs: number;
  /** What must not be, the first few. */
  failures: string[];
}

/** Bytes at each end of a file that are all tried. */
const END_BYTES = 48;
/** Places between the ends that are tried, at most. */
const PLACES = 700;
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

/** Where the bytes of a file lie that readers use: blocks or buckets, or the whole file. */
async function usedSpans(folder: string, name: string): Promise<ByteRange[]> {
  const place = new FolderPlace(folder);
  try {
    const { manifest, segments } = await openContent(place, await manifestOf(folder));
    for (const { files, blocks, buckets } of segments) {
      for (const kind of ['rows', 'vectors', 'codes'] as const) {
        if (files[kind]?.name === name) return spansOf(blocks.bodies[kind]);
      }
      if (files.hashes?.name === name) {
        // Of hashes those buckets are read that ids are in.
        const own = bucketOf(hashOfId('row 0'), buckets.count);
        return [spansOf(buckets.bodies.rows)[own]];
      }
    }
    // Not the copy for people. Of columns the bodies of batches are used, wherever they are.
    const isRead = name !== 'manifest.json' && !name.startsWith('columns-');
    const named = filesOf(manifest).find((file) => file.name === name);
    const length = named?.bytes ?? readFileSync(join(folder, name)).length;
    return isRead ? [{ at: 0, length }] : [];
  } finally {
    await place.close();
  }
}

const spansOf = ({ at, bytes }: Bodies): ByteRange[] =>
  Array.from(bytes, (length, i) => ({ at: at[i], length }));

async function manifestOf(folder: string): Promise<Manifest> {
  const manifest = await newestManifest(folder);
  if (manifest === null) throw new Error('no manifest');
  return manifest;
}

async function sweep(folder: string, name: string, isFirst: boolean): Promise<FileDamage> {
  const kind = name.replace(/-.*/, '');
  const readers = readersOf(kind);
  const sound: string[] = [];
  for (const read of readers) sound.push(await read(folder));
  const spans = await usedSpans(folder, name);
  const path = join(folder, name);
  const bytes = readFileSync(path);
  const damage: FileDamage = {
    ...{ name, bytes: bytes.length, opened: 0, cuts: 0, used: 0, refused: 0, equal: 0 },
    ...{ slowestMs: 0, failures: [] as string[] },
  };
  // Of the copy for people nothing is read, of further files of a kind little is new.
  const usual = isFirst && name !== 'manifest.json' ? 7 : 61;
  const step = kind === 'manifest' ? 1 : Math.max(usual, Math.floor(bytes.length / PLACES));
  const fail = (message: string) => damage.failures.length < 10 && damage.failures.push(message);
  const open = async (what: string, isTold: boolean, isUsed: boolean) => {
    damage.opened++;
    if (isUsed) damage.used++;
    const start = process.cpuUsage();
    let refusals = 0;
    for (const [i, read] of readers.entries()) {
      try {
        if ((await read(folder)) !== sound[i]) fail(`${what}: reader ${i} gives another answer`);
      } catch (error) {
        refusals++;
        const isNamed = error instanceof FormatError && error.message.includes(name);
        if (!isNamed) fail(`${what}: reader ${i}: ${error instanceof Error ? error.stack : error}`);
      }
    }
    if (refusals > 0) damage.refused++;
    else damage.equal++;
    if (isUsed && refusals === 0) fail(`${what}: no reader notices`);
    const { user, system } = process.cpuUsage(start);
    damage.slowestMs = Math.max(damage.slowestMs, (user + system) / 1000);
    if (!isTold) return;
    const { problems } = await IndexFolder.verify(folder);
    if (!problems.some(({ file }) => file === name)) fail(`${what}: verify says nothing`);
  };
  const isRead = name !== 'manifest.json';
  for (const length of placesOf(bytes.length, 5 * step)) {
    writeFileSync(path, bytes.subarray(0, length));
    await open(`cut to ${length}`, damage.cuts++ % VERIFY_STEP === 0, isRead);
  }
  const changed = Buffer.from(bytes);
  for (const at of placesOf(bytes.length, step)) {
    changed[at] ^= 1 << (at % 8);
    writeFileSync(path, changed);
    const isUsed = spans.some((span) => at >= span.at && at < span.at + span.length);
    const what = `byte ${at} from ${bytes[at]} to ${changed[at]}`;
    await open(what, damage.opened % VERIFY_STEP === 0, isUsed);
    changed[at] = bytes[at];
  }
  writeFileSync(path, Buffer.concat([bytes, Buffer.of(0)]));
  await open('a byte more', true, isRead);
  unlinkSync(path);
  if (/^manifest-/.test(name)) {
    // The generation before, which is whole, or no index at all.
    await readers[0](folder).catch((error) => error instanceof FormatError || fail(`${error}`));
  } else await open('gone', isRead, isRead); // without the copy for people it is sound
  writeFileSync(path, bytes);
  return damage;
}

const root = mkdtempSync(join(scratch(), 'halfspace-damage-'));
try {
  const found: FileDamage[] = [];
  const kinds = new Set<string>();
  const sweepAll = async (folder: string, names: readonly string[]) => {
    for (const name of names) {
      const kind = name.replace(/-.*/, '');
      found.push(await sweep(folder, name, !kinds.has(kind)));
      kinds.add(kind);
    }
    const { problems } = await IndexFolder.verify(folder);
    if (problems.length > 0) throw new Error('the folder is not as it was');
  };
  const small = join(root, 'small.hs');
  await writeSmallFolder(small);
  const files = filesOf(await manifestOf(small)).map(({ name }) => name);
  const newest = (await generationsIn(small)).at(-1) as number;
  await sweepAll(small, [...files, manifestName(newest), 'manifest.json']);
  const hashed = join(root, 'hashed.hs');
  await writeHashedFolder(hashed);
  const ofHashes = filesOf(await manifestOf(hashed)).map(({ name }) => name);
  await sweepAll(
    hashed,
    ofHashes.filter((name) => /^hashes-/.test(name)),
  );
  process.stdout.write(JSON.stringify(found));
} finally {
  rmSync(root, { recursive: true });
}
