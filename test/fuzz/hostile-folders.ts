/**
 * Index folders whose maker meant harm: tables and manifests with something in them replaced, and
 * all checksums and places computed again, so that the checks behind the checksums are reached. And
 * sound folders on a web host whose answers are not what was asked for.
 */

import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Data } from 'apache-arrow';
import { checksum } from '../../src/kernels/xxhash';
import * as api from '../../src/node';
import { type FolderFile, filesOf } from '../../src/store/manifest';
import { openStored } from '../../src/store/stored-index';
import { openArrow } from '../../src/table/arrow/batches';
import { fileChecksum, KEY } from '../../src/table/sealed/seal';
import { Draws } from '../reference/random';
import { BytesPlace, bodiesOf } from '../store/files';
import { checkEqual, checkError, Finding } from './check';
import {
  changedData,
  changedJson,
  resealed,
  sealedBytes,
  temporaryFolder,
  useIndex,
  written,
} from './folders';
import { mutated, NUMBERS, TEXTS } from './mutate';
import { type MakeTarget, SMALL_INDEXES } from './readers';

type Files = Map<string, Uint8Array>;
type Entry = { -readonly [Key in keyof FolderFile]: FolderFile[Key] };
type Numbers = Float64Array | BigUint64Array;

interface Sound {
  readonly files: Files;
  readonly manifest: string;
  readonly ids: readonly api.Id[];
}

const filesIn = (folder: string): Files =>
  new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]));

const manifestIn = (files: Files) =>
  [...files.keys()]
    .filter((name) => name.startsWith('manifest-'))
    .sort()
    .at(-1) as string;

const jsonOf = (bytes: Uint8Array | undefined) => JSON.parse(Buffer.from(bytes ?? []).toString());

/** A folder for each kind of small index, of which rows were removed and others appended. */
async function soundFolders(): Promise<Sound[]> {
  const root = temporaryFolder();
  const added = ['late', 77, undefined, 7n];
  return Promise.all(
    SMALL_INDEXES.map(async (index, i) => {
      const folder = join(root, `${i}.hs`);
      const rows = Array.from({ length: 100 }, (_, row) => index.idOf(row));
      const ids = rows.filter((id) => id !== undefined);
      const columns = api.RowBatch.of({ title: ids.map((id) => `${id}!`) });
      await api.saveIndex(index, folder, i === 1 ? { columns } : {});
      await (await api.IndexFolder.open(folder)).remove([ids[1]]);
      const vector = Array.from({ length: index.dimensions ?? 0 }, (_, d) => d + 1);
      if (i === 0 || i === 3) {
        await (await api.IndexFolder.open(folder)).append([vector], [added[i] as api.Id]);
      }
      const files = filesIn(folder);
      const manifest = manifestIn(files);
      const named = filesOf(jsonOf(files.get(manifest))).map(({ name }) => name);
      const kept = [...named, manifest, 'manifest.json'];
      const own = new Map(kept.map((name) => [name, files.get(name) as Uint8Array]));
      return { files: own, manifest, ids: [...ids, ...added.filter((id) => id !== undefined)] };
    }),
  );
}

/** Data with one value that is of the kind of the others: of another row, the next number, an edge. */
function withOtherValue(draws: Draws, data: Data): Data {
  const copy = data.clone();
  const holder = copy.children[0] === undefined ? copy : copy.children[0].clone();
  if (holder !== copy) copy.children[0] = holder;
  const values = (holder.values as Uint8Array | undefined)?.slice();
  if (values === undefined || values.length === 0) return changedData(draws, data);
  const array = values as unknown as (number | bigint)[];
  const [at, other] = [draws.integer(values.length), draws.integer(values.length)];
  const now = array[at];
  const plus = (step: number) => (typeof now === 'bigint' ? now + BigInt(step) : now + step);
  const edge = draws.pick([0, 1, 2 ** 16, 2 ** 31, 2 ** 32 - 1, 2 ** 40, 2 ** 53]);
  const edges = () => (typeof now === 'bigint' ? BigInt(edge) : edge);
  const choices = [() => array[other], () => plus(1), () => plus(-1), edges];
  array[at] = draws.pick(choices)();
  if (draws.integer(4) === 0) array[other] = now;
  Object.defineProperty(holder, 'values', { value: values });
  return copy;
}

/** A table that may be hostile already; null where it cannot be opened. */
function openedAgain(bytes: Uint8Array): ReturnType<typeof openArrow> | null {
  try {
    return openArrow(bytes);
  } catch {
    return null;
  }
}

/** A table with its header, a column or its batches changed, sealed again. */
function hostileTable(draws: Draws, bytes: Uint8Array): Uint8Array | null {
  const opened = openedAgain(bytes);
  if (opened === null) return null;
  const { schema, batches } = opened;
  const header = JSON.parse(schema.metadata.get(KEY) as string);
  const what = draws.integer(8);
  const chosen = draws.integer(schema.fields.length);
  const harmed = draws.integer(batches.length);
  const changed = draws.integer(3) === 0 ? changedData : withOtherValue;
  let columns = batches.map((batch, which) =>
    schema.fields.map((field, i) => {
      const data = batch.data.children[i];
      const isHarmed = what > 1 && i === chosen && which === harmed;
      return { field, data: isHarmed ? changed(draws, data) : data };
    }),
  );
  if (what === 1) {
    const without = columns.filter((_, i) => i !== harmed);
    const twice = [...columns, columns[harmed]];
    const order = draws.shuffled(columns);
    columns = draws.pick([without.length > 0 ? without : twice, twice, order]);
  }
  const own = what === 0 ? ((changedJson(draws, header) ?? {}) as object as never) : header;
  return written(own, columns) ?? bytes;
}

/** A table of places with some of its columns replaced. */
function withColumns(bytes: Uint8Array, given: Readonly<Record<string, Numbers>>): Uint8Array {
  const { schema, batches } = openArrow(bytes);
  const header = JSON.parse(schema.metadata.get(KEY) as string);
  const columns = schema.fields.map((field, i) => {
    const data = batches[0].data.children[i].clone();
    const values = given[field.name];
    if (values !== undefined) {
      const Kind = data.values.constructor as BigUint64ArrayConstructor;
      const own = Kind.from(values as BigUint64Array, (one) =>
        Kind.BYTES_PER_ELEMENT === 8 ? BigInt(one) : (Number(one) as never),
      );
      Object.defineProperty(data, 'values', { value: own });
    }
    return { field, data };
  });
  return sealedBytes(header, [columns]);
}

/** Files whose bodies a table of blocks lists, and in which columns. */
const BODIES = { rows: 'rows', vectors: 'vectors', codes: 'codes', hashes: 'rows' } as const;

/** The folder with one file or its manifest changed, and all that depends on it made right. */
function hostileFiles(draws: Draws, { files, manifest }: Sound): Files {
  const own = new Map(files);
  let json = jsonOf(own.get(manifest));
  const entries: Entry[] = filesOf(json);
  const put = (entry: Entry, bytes: Uint8Array) => {
    own.set(entry.name, bytes);
    Object.assign(entry, { bytes: bytes.length, checksum: fileChecksum(bytes) });
  };
  const isTables = draws.integer(6) > 0;
  for (let left = isTables ? 1 + draws.integer(2) : 0; left > 0; left--) {
    const entry = draws.pick(entries);
    const bytes = hostileTable(draws, own.get(entry.name) as Uint8Array);
    if (bytes === null) continue;
    put(entry, bytes);
    const prefix = BODIES[entry.kind as 'rows'];
    if (prefix === undefined || draws.integer(8) === 0) continue;
    const nth = entries.filter((one) => one.kind === entry.kind).indexOf(entry);
    const places = entries.filter(({ kind }) => kind === 'blocks')[nth];
    const before = own.get(places.name) as Uint8Array;
    const bodies = bodiesOf(bytes);
    const opened = openedAgain(before);
    const table = opened?.batches[0];
    if (opened === null || table === undefined) continue;
    // Those of buckets of hashes come last.
    const { buckets } = JSON.parse(opened.schema.metadata.get(KEY) as string);
    const first = table.numRows - Number(buckets);
    const [from, end] = entry.kind === 'hashes' ? [first, table.numRows] : [0, first];
    if (bodies.length !== end - from) continue;
    const replaced = (name: string, values: readonly (number | bigint)[]) => {
      const all = Array.from(table.getChild(name)?.toArray() ?? [], BigInt) as bigint[];
      for (const [i, value] of values.entries()) all[from + i] = BigInt(value);
      return BigUint64Array.from(all);
    };
    const sums = bodies.map(({ at, length }) => checksum(bytes.subarray(at, at + length)));
    const columns = {
      at: bodies.map(({ at }) => at),
      bytes: bodies.map(({ length }) => length),
      checksum: sums,
    };
    const after = withColumns(
      before,
      Object.fromEntries(
        Object.entries(columns).map(([name, values]) => [
          `${prefix}_${name}`,
          replaced(`${prefix}_${name}`, values),
        ]),
      ),
    );
    put(places, after);
  }
  if (!isTables) json = changedJson(draws, json);
  const sealedJson = resealed(json);
  return own.set(manifest, sealedJson).set('manifest.json', sealedJson);
}

/** All kinds of questions to an index whose rows are elsewhere; the answers as they are. */
async function asked(index: api.StoredIndex, draws: Draws, ids: readonly api.Id[]) {
  const code = draws.bytes(Math.ceil(index.bits / 8));
  code[code.length - 1] &= 0xff >> (8 * code.length - index.bits);
  const answers: unknown[] = [index.count];
  for (const id of [draws.pick(ids), draws.pick(ids)]) answers.push(await index.get(id));
  answers.push(await index.search(code, { k: 3 }));
  answers.push(await index.within(code, { maxDistance: Math.min(3, index.bits) }));
  if (index.dimensions !== undefined && index.dimensions < 100) {
    answers.push(await index.search(draws.gaussians(index.dimensions), { k: 5, probes: 2 }));
  }
  const rows = await index.rows();
  if (index.columnNames.length > 0 && rows.length > 0) {
    const batch = await index.columns(['title'], { rows: rows.subarray(0, 3) });
    answers.push(batch.values('title'));
  }
  return answers;
}

/** An error must be in our words, and name a file, or a row that several files have. */
function checkNamed(error: unknown, doing: string): void {
  checkError(error, doing);
  const { message } = error as Error;
  if (
    error instanceof api.FormatError &&
    !/manifest|\.arrow|: no index|: damaged: row \d/.test(message)
  ) {
    throw new Finding(`${doing}: the error names no file: ${message}`);
  }
}

const MEMORY = ['64MB', '1MB', '200KB'];

/** Hostile folders as bytes at hand: no file system between, so many inputs a second. */
const hostileStored: MakeTarget = () => {
  const ready = soundFolders();
  return async (draws) => {
    const sound = draws.pick(await ready);
    const files = hostileFiles(draws, sound);
    try {
      const index = await openStored(new BytesPlace(files), { memory: draws.pick(MEMORY) });
      try {
        await asked(index, draws, sound.ids);
      } finally {
        await index.close();
      }
    } catch (error) {
      checkNamed(error, 'a stored index');
    }
  };
};

/** Hostile folders on disk: loaded, verified, and changed by each writer, which loses nothing. */
const hostileFolder: MakeTarget = () => {
  const [ready, root] = [soundFolders(), temporaryFolder()];
  return async (draws) => {
    const sound = draws.pick(await ready);
    const files = hostileFiles(draws, sound);
    for (const name of readdirSync(root)) rmSync(join(root, name), { recursive: true });
    for (const [name, bytes] of files) writeFileSync(join(root, name), bytes);
    let isChanged = false;
    try {
      const opened = await api.IndexFolder.open(root);
      const { dimensions } = opened.options;
      const vector = Array.from({ length: Math.min(dimensions ?? 1, 100) }, () => draws.gaussian());
      const id = draws.pick([...sound.ids, 'new', 99]);
      const doing = draws.pick([
        async () => useIndex(await opened.index(), draws),
        () => opened.append([vector], [id]),
        () => opened.append([vector], [id], { replace: true }),
        () => opened.remove([draws.pick(sound.ids), draws.pick(sound.ids)]),
        () => opened.compact(),
        () => opened.optimize({ k: 2, queries: 4, partitions: 2, memory: 2 ** draws.integer(24) }),
        () => api.IndexFolder.verify(root),
      ]);
      await doing();
      isChanged = opened.generation !== jsonOf(sound.files.get(sound.manifest)).generation;
    } catch (error) {
      checkNamed(error, 'a folder');
    }
    if (isChanged) return;
    const left = filesIn(root);
    for (const [name, bytes] of files) {
      const isThere = Buffer.compare(left.get(name) ?? Buffer.of(), bytes) === 0;
      if (!isThere) throw new Finding(`${name} was changed or removed by a call that failed`);
    }
  };
};

/** What a host says in place of the truth. */
function answerBadly(
  draws: Draws,
  body: Uint8Array,
  range: string,
  response: ServerResponse,
): void {
  const [first, last] = (/(\d+)-(\d+)/.exec(range) ?? [0, 0, body.length - 1]).slice(1).map(Number);
  const part = body.subarray(first, last + 1);
  const n = () => draws.pick([first, last, body.length, first + 1, last - 1, ...NUMBERS]);
  const word = () => draws.pick(TEXTS).replace(/[^\x20-\x7e]/g, '?');
  const head: Record<string, string> = {
    'content-range': draws.pick([
      `bytes ${first}-${last}/${body.length}`,
      `bytes ${n()}-${n()}/${n()}`,
      `bytes */${n()}`,
      word(),
    ]),
  };
  if (draws.integer(4) === 0) head.etag = draws.pick(['"a"', 'W/"b"', word()]);
  if (draws.integer(6) === 0) head['content-encoding'] = draws.pick(['gzip', 'br', 'none', word()]);
  if (draws.integer(6) === 0) head['retry-after'] = draws.pick(['0', '1', '-1', '1e9', word()]);
  if (draws.integer(6) === 0) head['content-type'] = word();
  if (draws.integer(6) === 0) head.location = draws.pick(['/', '.', '//', word()]);
  if (draws.integer(6) === 0) head['content-length'] = String(draws.integer(2 * part.length + 2));
  const sent = draws.pick([part, part, body, mutated(draws, part, [body]), part.subarray(1)]);
  const statuses = [206, 206, 206, 200, 200, 201, 203, 204, 301, 304, 400, 403, 404, 410, 416];
  const status = draws.pick([...statuses, 429, 500, 503, 599]);
  try {
    response.writeHead(status, head);
  } catch {
    response.writeHead(500); // Node refuses to send such a head
  }
  if (draws.integer(6) > 0) return void response.end(sent);
  response.write(sent.subarray(0, draws.integer(sent.length + 1)));
  response.destroy(); // the connection breaks
}

/** Of the timers that a request sets, a limit of its time is at least this long. */
const LIMIT_MS = 30_000;

/** Sound folders on such a host: what is answered is right, or an error names the address. */
const http: MakeTarget = () => {
  const ready = soundFolders();
  const wait = globalThis.setTimeout;
  // Tries after a failure come at once; the limit of a call without progress stays.
  const atOnce = (run: () => void, ms: number, ...args: never[]) =>
    wait(run, ms < LIMIT_MS ? 0 : ms, ...args);
  globalThis.setTimeout = atOnce as unknown as typeof wait;
  let [now, harm]: [Files, Draws | null] = [new Map(), null];
  const server = createServer(({ url, headers }, response) => {
    const body = now.get(decodeURIComponent(url ?? '').slice(1));
    const range = headers.range ?? '';
    if (body === undefined) return void response.writeHead(404).end();
    if (harm !== null && harm.integer(4) === 0) return answerBadly(harm, body, range, response);
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(range) ?? [];
    if (first === undefined) return void response.end(body);
    const said = { 'content-range': `bytes ${first}-${last}/${body.length}` };
    response.writeHead(206, said).end(body.subarray(Number(first), Number(last) + 1));
  });
  server.on('clientError', (_, socket) => socket.destroy());
  const listening = new Promise<string>((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    });
  });
  const inputs = { answered: 0, refused: 0 };
  return async (draws) => {
    const [sound, address] = [draws.pick(await ready), await listening];
    const questions = String(draws.integer(2 ** 31));
    const memory = draws.pick(MEMORY);
    now = sound.files;
    const answers = async (opening: Promise<api.StoredIndex>) => {
      const index = await opening;
      try {
        return await asked(index, new Draws(questions), sound.ids);
      } finally {
        await index.close();
      }
    };
    harm = draws;
    try {
      const found = await answers(api.openIndexUrl(address, { memory }));
      const wanted = await answers(openStored(new BytesPlace(sound.files), { memory }));
      checkEqual(found, wanted, 'an index on a bad host');
      inputs.answered++;
    } catch (error) {
      checkError(error, 'an index on a host');
      inputs.refused++;
      if (inputs.refused === 100 && inputs.answered === 0) throw new Finding('none has an answer');
      if (!(error as Error).message.startsWith(address.slice(0, -1))) {
        throw new Finding(`the error names no address: ${(error as Error).stack}`);
      }
    }
  };
};

export const HOSTILE_FOLDERS: Record<string, MakeTarget> = {
  ...{ 'hostile-stored': hostileStored, 'hostile-folder': hostileFolder, http },
};
