/**
 * Files that name each other or say what others mean: index folders, plans, index files with sound
 * checksums over hostile content, and compressed frames by themselves.
 */

import { mkdtempSync, readdirSync, readFileSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Data, Schema } from 'apache-arrow';
import { concatenated } from '../../src/base/arrays';
import { ByteSource, unpackedZstd } from '../../src/formats/byte-source';
import * as api from '../../src/node';
import { parseManifest } from '../../src/store/manifest';
import { openArrow } from '../../src/table/arrow/batches';
import { ArrowEncoder } from '../../src/table/arrow/writer';
import type { Column } from '../../src/table/columns/make';
import { decodeLz4, decodeZstd } from '../../src/table/compression';
import { fileChecksum, headerText, KEY } from '../../src/table/sealed/seal';
import { Draws } from '../reference/random';
import { scratch } from '../reference/scratch';
import { frames } from '../table/frames.json';
import { checkEqual, checkError, checkRefusal, Finding, textOf } from './check';
import { mutated, NUMBERS, TEXTS } from './mutate';
import { FILE, type MakeTarget, type Run, SMALL_INDEXES } from './readers';

/** A folder of this process, gone at its end. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(scratch(), 'halfspace-fuzz-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Something in a value of JSON replaced by another value of JSON. */
export function changedJson(draws: Draws, value: unknown): unknown {
  const isLeaf = typeof value !== 'object' || value === null;
  if (isLeaf || draws.integer(6) === 0) {
    const numbers = [...NUMBERS, Number(value) + 1, Number(value) - 1, 2 * Number(value)];
    return draws.pick([null, draws.pick(numbers), draws.pick(TEXTS), {}, [], [value], true]);
  }
  const copy = structuredClone(value) as Record<string, unknown>;
  const key = draws.pick([...Object.keys(copy), 'added']);
  if (draws.integer(8) === 0) delete copy[key];
  else copy[key] = changedJson(draws, copy[key]);
  return copy;
}

/** Reads, and uses what was read as a program would. */
export function useIndex(index: api.SimHashIndex, draws: Draws): void {
  const code = draws.bytes(Math.ceil(index.bits / 8));
  code[code.length - 1] &= 0xff >> (8 * code.length - index.bits);
  index.search(code, { k: 3 });
  index.within(code, { maxDistance: Math.min(3, index.bits) });
  if (index.dimensions !== undefined && index.dimensions < 1000) {
    const query = draws.gaussians(index.dimensions);
    try {
      index.search(query, { k: 3 });
    } catch (error) {
      if (!/made elsewhere: query it by codes/.test(`${error}`)) throw error;
    }
  }
  api.indexToArrow(index);
}

/** The data of a column with some bytes of its values changed; a column's shape stays. */
export function changedData(draws: Draws, data: Data): Data {
  const copy = data.clone();
  const child = copy.children[0];
  const holder = child !== undefined && draws.integer(2) === 0 ? child.clone() : copy;
  if (holder !== copy) copy.children[0] = holder;
  for (const name of ['values', 'valueOffsets'] as const) {
    const array = holder[name] as Uint8Array | undefined;
    if (!ArrayBuffer.isView(array) || array.length === 0 || draws.integer(2) === 0) continue;
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    const changed = mutated(draws, bytes, []).subarray(0, bytes.length);
    const whole = new Uint8Array(bytes.length);
    whole.set(changed);
    const Kind = array.constructor as Uint8ArrayConstructor;
    Object.defineProperty(holder, name, { value: new Kind(whole.buffer) });
  }
  return copy;
}

/** The sealed file of some columns, which no declaration needs to have. */
export function sealedBytes(header: object, batches: readonly (readonly Column[])[]): Uint8Array {
  const fields = batches[0].map(({ field }) => field);
  const metadata = new Map([[KEY, headerText(header as Record<string, unknown>)]]);
  const encoder = new ArrowEncoder('file', new Schema(fields, metadata));
  const parts = batches.flatMap((batch) => {
    const data = batch.map((column) => column.data);
    return encoder.add(data, data[0].length);
  });
  return concatenated([...parts, ...encoder.finish()]);
}

/** A hostile table as a file; null where lists are longer than what writes Arrow can write. */
export function written(...[header, batches]: Parameters<typeof sealedBytes>): Uint8Array | null {
  try {
    return sealedBytes(header, batches);
  } catch (error) {
    if (/Cannot write arrays larger than/.test(`${error}`)) return null;
    throw error;
  }
}

/** Index files whose maker meant harm, and computed the checksums. */
const hostileIndex: MakeTarget = () => {
  const files = SMALL_INDEXES.map((index) => openArrow(api.indexToArrow(index)));
  return (draws) => {
    const { schema, batches } = draws.pick(files);
    const header = JSON.parse(schema.metadata.get(KEY) as string);
    const isHeader = draws.integer(2) === 0;
    const chosen = isHeader ? -1 : draws.integer(schema.fields.length);
    const columns = batches.map((batch) =>
      schema.fields.map((field, i) => {
        const data = batch.data.children[i];
        return { field, data: i === chosen ? changedData(draws, data) : data };
      }),
    );
    const given = ((isHeader ? changedJson(draws, header) : header) ?? {}) as Record<
      string,
      unknown
    >;
    const bytes = written(given, columns);
    if (bytes === null) return;
    let index: api.SimHashIndex;
    try {
      index = api.indexFromArrow(bytes, { file: FILE });
    } catch (error) {
      return checkRefusal(error, FILE, 'indexFromArrow of hostile content');
    }
    try {
      useIndex(index, draws);
    } catch (error) {
      throw new Finding(`an index was read that cannot be used: ${error}`);
    }
  };
};

/** A manifest with its checksum computed again. */
export function resealed(json: unknown): Buffer {
  const { checksum: _, ...rest } = (json ?? {}) as { checksum?: string };
  const head = `${JSON.stringify(rest, null, 1).slice(0, -2)},\n`;
  return Buffer.from(`${head} "checksum": "${fileChecksum(Buffer.from(head))}"\n}\n`);
}

/** Small folders of every kind, each with two generations at least. */
async function smallFolders(): Promise<Map<string, Uint8Array>[]> {
  const root = temporaryFolder();
  const frequencies = new api.TextHasher().fit(['a b c', 'b c', 'c']);
  const made: Map<string, Uint8Array>[] = [];
  for (const [i, index] of SMALL_INDEXES.entries()) {
    const path = join(root, `${i}.hs`);
    const rows = Array.from({ length: 100 }, (_, row) => index.idOf(row));
    const ids = rows.filter((id) => id !== undefined);
    const columns = api.RowBatch.of({ title: ids.map((id) => `${id}!`) });
    await api.saveIndex(index, path, i % 2 === 0 ? { columns, frequencies } : {});
    await (await api.IndexFolder.open(path)).remove([ids[1]]);
    const names = readdirSync(path);
    made.push(new Map(names.map((name) => [name, readFileSync(join(path, name))])));
  }
  return made;
}

const manifest: MakeTarget = () => {
  const ready = smallFolders();
  const generationOf = (text: Buffer) => JSON.parse(text.toString()).generation as number;
  return async (draws) => {
    const texts = (await ready).flatMap((files) => {
      const names = [...files.keys()].filter((name) => name.startsWith('manifest-'));
      return names.map((name) => Buffer.from(files.get(name) as Uint8Array));
    });
    const at = draws.integer(texts.length);
    const isHostile = draws.integer(2) === 0;
    const json = JSON.parse(texts[at].toString());
    const bytes = isHostile ? resealed(changedJson(draws, json)) : mutated(draws, texts[at], texts);
    try {
      const read = parseManifest(bytes, FILE, generationOf(texts[at]));
      if (isHostile) return;
      // A part of another put in may make the whole of that other.
      const same = texts.findIndex((text) => text.equals(bytes));
      const own = texts[same < 0 ? at : same];
      checkEqual(read, parseManifest(own, FILE, generationOf(own)), 'a damaged manifest');
    } catch (error) {
      checkRefusal(error, FILE, 'manifest');
    }
  };
};

/** A folder with one file damaged, or with a hostile manifest that passes its checksum. */
const folder: MakeTarget = () => {
  const [ready, root] = [smallFolders(), temporaryFolder()];
  return async (draws) => {
    const files = draws.pick(await ready);
    for (const file of readdirSync(root)) unlinkSync(join(root, file));
    const harmed = draws.pick([...files.keys()]);
    for (const [file, bytes] of files) {
      const isManifest = file.startsWith('manifest-');
      const make = () =>
        isManifest && draws.integer(2) === 0
          ? resealed(changedJson(draws, JSON.parse(Buffer.from(bytes).toString())))
          : mutated(draws, bytes, []);
      writeFileSync(join(root, file), file === harmed ? make() : bytes);
    }
    try {
      const opened = await api.IndexFolder.open(root);
      const index = await opened.index();
      useIndex(index, draws);
      await opened.columns();
      await opened.frequencies();
    } catch (error) {
      checkError(error, 'opening a folder');
      const isNamed = error instanceof api.FormatError && error.message.startsWith(root);
      if (!isNamed) throw new Finding(`the error names no file: ${(error as Error).stack}`);
    }
    if (draws.integer(4) === 0) await api.IndexFolder.verify(root);
  };
};

/** A plan's file: rows that are changed are found, or are a plan that someone edited. */
const plan: MakeTarget = () => {
  const root = temporaryFolder();
  const draws = new Draws('a plan');
  const codes = api.Codes.from(draws.bytes(20).fill(7, 8), { bits: 8 });
  const kinds = ['csv', 'jsonl', 'arrow', 'parquet'];
  const ready = Promise.all(
    kinds.map(async (kind) => {
      const path = join(root, `plan.${kind}`);
      await api.writePlan(path, await api.dedup(codes, { maxDistance: 1 }));
      return readFileSync(path);
    }),
  );
  return async (draws) => {
    const files = await ready;
    const at = draws.integer(kinds.length);
    const path = join(root, `input.${kinds[at]}`);
    writeFileSync(path, mutated(draws, files[at], files, ['keep', 'drop', ',', '\n', '1', '-1']));
    try {
      const { count, kept, duplicateOf } = await api.readPlan(path);
      for (let row = 0; row < count; row++) {
        if (kept[row] === 1 || duplicateOf[row] < count) continue;
        throw new Finding(`row ${row} duplicates row ${duplicateOf[row]} of ${count}`);
      }
    } catch (error) {
      checkRefusal(error, path, 'readPlan');
    }
  };
};

/** Frames of other programs: damage is found where there is a checksum, and the decoder always ends. */
function framesOf(codec: string, decode: (bytes: Uint8Array) => Uint8Array): MakeTarget {
  return () => {
    const made = frames.filter((one) => one.codec === codec && one.frame.length < MAX_FRAME_DIGITS);
    const seeds = made.map(({ frame }) => Uint8Array.from(Buffer.from(frame, 'hex')));
    const sound = new Set(seeds.map((bytes) => textOf(decode(bytes))));
    return (draws) => {
      const seed = draws.pick(seeds);
      const bytes = mutated(draws, seed, seeds);
      let answer: Uint8Array;
      try {
        answer = decode(bytes);
      } catch (error) {
        // What ends early is found by the limits of a DataView; readers make a FormatError of it.
        if (!/DataView/.test(`${error}`)) checkError(error, codec);
        return;
      }
      // A frame behind another is no damage: both are decoded.
      const isAlone = Buffer.from(bytes).indexOf(seed.subarray(0, 4), 1) < 0;
      const isChecked = codec === 'zstd' && (seed[4] & 4) !== 0 && bytes[4] === seed[4];
      if (!isChecked || !isAlone || sound.has(textOf(answer))) return;
      throw new Finding('a damaged frame was decoded');
    };
  };
}

/**
 * The same frames as a file in chunks of any size: the content of `decodeZstd`, or an error that
 * names the file. What is refused as a whole may be content where it asks for a large window.
 */
function streamedZstd(): Run {
  const made = frames.filter(
    ({ codec, frame }) => codec === 'zstd' && frame.length < MAX_FRAME_DIGITS,
  );
  const seeds = made.map(({ frame }) => Uint8Array.from(Buffer.from(frame, 'hex')));
  return async (draws) => {
    const bytes = mutated(draws, draws.pick(seeds), seeds);
    let expected: Uint8Array | null = null;
    let refusal = '';
    try {
      expected = decodeZstd(bytes);
    } catch (error) {
      refusal = `${error}`;
    }
    const step = 1 + draws.integer(40);
    async function* chunks() {
      for (let at = 0; at < bytes.length; at += step) yield bytes.subarray(at, at + step);
    }
    const parts: Uint8Array[] = [];
    try {
      const source = ByteSource.of(chunks(), FILE);
      const next = unpackedZstd(() => source.next(), FILE, null);
      for (let part = await next(); part.length > 0; part = await next()) {
        parts.push(part);
      }
    } catch (error) {
      checkRefusal(error, FILE, 'unpackedZstd');
      if (expected === null || /window|makes more/.test(`${error}`)) return;
      throw new Finding(`unpackedZstd refuses what decodeZstd decodes: ${error}`);
    }
    if (expected !== null) checkEqual(Buffer.concat(parts), Buffer.from(expected), 'unpackedZstd');
    else if (bytes.length > 0 && !/ask for/.test(refusal)) throw new Finding(`decoded: ${refusal}`);
  };
}

/** Larger frames would make few inputs a second. */
const MAX_FRAME_DIGITS = 4000;

export const FOLDERS: Record<string, MakeTarget> = {
  ...{ 'hostile-index': hostileIndex, manifest, folder, plan },
  ...{
    zstd: framesOf('zstd', decodeZstd),
    lz4: framesOf('lz4', (frame) => decodeLz4(frame, 255 * frame.length)),
  },
  'streamed-zstd': streamedZstd,
};
