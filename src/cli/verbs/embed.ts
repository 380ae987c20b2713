/**
 * `halfspace embed`: texts to vectors by a sentence model; the other columns are carried along. An
 * Arrow output keeps the model, so that an index of it embeds the texts of queries. Streams: memory
 * grows with the model, not with the rows. What a stopped run has made is next to its output, and
 * the next run goes on from there.
 */

import { type FileHandle, open, rm, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { bitmapOf, concatenated } from '../../base/arrays';
import { LongWork } from '../../base/long-work';
import { checksum } from '../../kernels/xxhash';
import type { TextModel } from '../../node';
import { Embedder } from '../../text/embed';
import { hashWord } from '../../text/tokens';
import type { Call } from '../call';
import {
  batchesOf,
  chooseSource,
  namedColumns,
  openInput,
  readingOptions,
} from '../input/open-input';
import { counted } from '../output/figures';
import { openOutput, outputFormat } from '../output/rows';

/** Rows of a batch, after which progress is shown. */
const BATCH_ROWS = 512;

/** A row without text gets a null vector, which matches nothing. */
export async function run(call: Call): Promise<0> {
  const input = call.onlyInput();
  const given = await modelOf(call);
  const reader = await openInput(call, input, undefined, {
    ...readingOptions(call, input),
    batchRows: BATCH_ROWS,
  });
  const [column] = chooseSource(call, reader, ['text']).columns;
  const names = reader.columns.map(({ name }) => name).filter((name) => name !== 'vector');
  const carried = call.has('columns') ? namedColumns(call, reader) : names;
  call.say(`loading ${given.model}`);
  const embedder = await Embedder.of(given);
  const header = { kind: 'vectors', model: embedder.model } as const;
  const out = await openOutput(call, { inputs: [input], header });
  const made = new MadeVectors(call, embedder);
  call.atEnd(() => made.close());
  let nullCount = 0;
  for await (const batch of batchesOf(call, reader)) {
    const texts = batch.texts(column).map((text) => text ?? '');
    const isThere = (row: number) => /\S/.test(texts[row]);
    const vector = await made.vectorsOf(texts, isThere);
    nullCount += texts.filter((_, row) => !isThere(row)).length;
    const validity = bitmapOf(texts.length, isThere);
    await out.write(batch.only(carried).with({ vector: { ...vector, validity } }));
  }
  await out.close();
  await made.remove();
  if (nullCount > 0) call.say(`${counted(nullCount, 'row')} without text: null vectors`);
  const format = outputFormat(call);
  if (format !== 'arrow' && format !== 'arrows') {
    call.say(`only Arrow keeps the model, by which an index embeds queries: ${format} does not`);
  }
  call.say(`${counted(out.rowCount, 'vector')} of ${embedder.dimensions} dimensions`);
  return 0;
}

/** The model that the call names; a folder is kept as a whole path, for searches from elsewhere. */
async function modelOf(call: Call): Promise<TextModel> {
  const model = call.text('model') ?? call.misuse('say by which model: --model NAME or FOLDER');
  const isFolder = await stat(model).then(
    (found) => found.isDirectory(),
    () => false,
  );
  const pooling = call.text('pooling') as TextModel['pooling'];
  if (!isFolder) return { model, revision: call.text('revision'), pooling };
  if (call.has('revision')) call.misuse('--revision is for a model on the Hub, not for a folder');
  return { model: resolve(model), pooling };
}

/**
 * The vectors of texts, and a file `OUT.part` of those that are made: by row with a text a checksum
 * of model, text and vector, and the vector. Those that the file holds for the same texts in the
 * same order are not made again; it ends before the first other one, or one that was cut.
 */
class MadeVectors {
  readonly #path: string | null;
  readonly #work: LongWork;
  readonly #rowBytes: number;
  #file: FileHandle | null = null;
  /** Rows that the file holds so far, and whether those behind them may be of an earlier run. */
  #count = 0;
  #isOld = true;

  constructor(
    private readonly call: Call,
    private readonly embedder: Embedder,
  ) {
    const target = call.text('output') ?? '-';
    this.#path = target === '-' ? null : `${target}.part`;
    this.#work = new LongWork({ signal: call.signal });
    this.#rowBytes = 8 + 4 * embedder.dimensions;
  }

  /** A vector for each text that is there, zeros for others. */
  async vectorsOf(texts: readonly string[], isThere: (row: number) => boolean) {
    const { dimensions } = this.embedder;
    const values = new Float32Array(texts.length * dimensions);
    const rows = [...texts.keys()].filter(isThere);
    const known = await this.#known(rows.map((row) => texts[row]));
    const others = rows.slice(known.length).map((row) => texts[row]);
    const made = (await this.embedder.vectorsOf(others, this.#work)).values as Float32Array;
    const added = others.map((_, i) => made.subarray(i * dimensions, (i + 1) * dimensions));
    for (const [i, vector] of [...known, ...added].entries()) {
      values.set(vector, rows[i] * dimensions);
    }
    if (this.#file !== null && others.length > 0) {
      const bytes = concatenated(added.map((vector, i) => this.#recordOf(others[i], vector)));
      await this.#file.write(bytes, 0, bytes.length, this.#count * this.#rowBytes);
      this.#count += others.length;
    }
    return { values, dimensions };
  }

  /** The vectors of the first of these texts that an earlier run made. */
  async #known(texts: readonly string[]): Promise<Float32Array[]> {
    const vectors: Float32Array[] = [];
    if (this.#path === null || !this.#isOld) return vectors;
    this.#file ??= await open(this.#path, 'r+').catch((error) => {
      if (error.code !== 'ENOENT') throw error;
      return open(this.#path as string, 'wx+');
    });
    const at = this.#count * this.#rowBytes;
    const bytes = new Uint8Array(texts.length * this.#rowBytes);
    const { bytesRead } = await this.#file.read(bytes, 0, bytes.length, at);
    for (let from = 0; from + this.#rowBytes <= bytesRead; from += this.#rowBytes) {
      const vector = new Float32Array(bytes.slice(from + 8, from + this.#rowBytes).buffer);
      const expected = this.#recordOf(texts[vectors.length], vector);
      if (Buffer.compare(expected, bytes.subarray(from, from + this.#rowBytes)) !== 0) break;
      vectors.push(vector);
    }
    this.#count += vectors.length;
    if (vectors.length === texts.length) return vectors;
    this.#isOld = false;
    await this.#file.truncate(this.#count * this.#rowBytes);
    if (this.#count > 0)
      this.call.say(`going on behind ${counted(this.#count, 'vector')} of ${this.#path}`);
    return vectors;
  }

  /** What the file has of a text: a checksum of model, text and vector, and the vector. */
  #recordOf(text: string, vector: Float32Array): Uint8Array {
    const bytes = new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
    const seed = hashWord(`${JSON.stringify(this.embedder.model)} ${text}`);
    const check = BigUint64Array.of(checksum(bytes, seed));
    return concatenated([new Uint8Array(check.buffer), bytes]);
  }

  /** Closes the file; one without vectors is removed. */
  async close(): Promise<void> {
    const [file, path] = [this.#file, this.#path];
    this.#file = null;
    await file?.close();
    if (file === null || path === null) return;
    if (this.#count === 0) await rm(path, { force: true });
    else
      this.call.say(`the same command goes on behind ${counted(this.#count, 'vector')} in ${path}`);
  }

  /** Removes the file: the output has all vectors. */
  async remove(): Promise<void> {
    this.#count = 0;
    await this.close();
  }
}
