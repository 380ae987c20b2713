/**
 * `halfspace embed`: texts to vectors by a sentence model; the other columns are carried along. An
 * Arrow output keeps the model, so that an index of it embeds the texts of queries. Streams: memory
 * grows with the model, not with the rows. What a stopped run has made is next to its output, and
 * the next run goes on from there.
 */

import { type FileHandle, open, rm, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { bitmapOf } from '../../base/arrays';
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
  const { dimensions } = embedder;
  const header = { kind: 'vectors', model: embedder.model } as const;
  const out = await openOutput(call, { inputs: [input], header });
  const made = new MadeVectors(call, embedder);
  call.atEnd(() => made.close());
  let nullCount = 0;
  for await (const batch of batchesOf(call, reader)) {
    const texts = batch.texts(column).map((text) => text ?? '');
    const isThere = (row: number) => /\S/.test(texts[row]);
    const there = [...texts.keys()].filter(isThere);
    const vectors = await made.of(there.map((row) => texts[row]));
    const values = new Float32Array(texts.length * dimensions);
    for (const [i, row] of there.entries()) {
      values.set(vectors.subarray(i * dimensions, (i + 1) * dimensions), row * dimensions);
    }
    nullCount += texts.length - there.length;
    const validity = bitmapOf(texts.length, isThere);
    await out.write(batch.only(carried).with({ vector: { values, dimensions, validity } }));
  }
  await out.close();
  await made.remove();
  if (nullCount > 0) call.say(`${counted(nullCount, 'row')} without text: null vectors`);
  const format = outputFormat(call);
  if (format !== 'arrow' && format !== 'arrows') {
    call.say(`only Arrow keeps the model, by which an index embeds queries: ${format} does not`);
  }
  call.say(`${counted(out.rowCount, 'vector')} of ${dimensions} dimensions`);
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
 * Makes vectors, and keeps them in a file `OUT.part`: for each batch a checksum of model, texts and
 * vectors, and the vectors. Batches that the file holds from an earlier run are read, up to the
 * first one of other texts or one that was cut; from there on the file is written again.
 */
class MadeVectors {
  readonly #path: string | null;
  readonly #work: LongWork;
  #file: FileHandle | null = null;
  /** Bytes and vectors of the batches so far, and whether those of an earlier run may follow. */
  #bytes = 0;
  #count = 0;
  #isOld = true;

  constructor(
    private readonly call: Call,
    private readonly embedder: Embedder,
  ) {
    const target = call.text('output') ?? '-';
    this.#path = target === '-' ? null : `${target}.part`;
    this.#work = new LongWork({ signal: call.signal });
  }

  /** The vectors of the texts of a batch, one after another. */
  async of(texts: readonly string[]): Promise<Float32Array> {
    const { dimensions, model } = this.embedder;
    if (this.#path === null) return this.#made(texts);
    // Opened for appending, so that what is written after a cut begins at the new end.
    this.#file ??= await open(this.#path, 'a+', 0o600);
    const bytes = new Uint8Array(8 + 4 * dimensions * texts.length);
    const [check, values] = [new BigUint64Array(bytes.buffer, 0, 1), bytes.subarray(8)];
    const seed = hashWord(JSON.stringify([model, texts]));
    if (this.#isOld) {
      const { bytesRead } = await this.#file.read(bytes, 0, bytes.length, this.#bytes);
      this.#isOld = bytesRead === bytes.length && check[0] === checksum(values, seed);
      if (!this.#isOld) {
        await this.#file.truncate(this.#bytes);
        if (this.#count > 0) this.call.say(`going on behind ${this.#counted()} of ${this.#path}`);
      }
    }
    const vectors = new Float32Array(bytes.buffer, 8);
    if (!this.#isOld) {
      vectors.set(await this.#made(texts));
      check[0] = checksum(values, seed);
      await this.#file.appendFile(bytes);
    }
    this.#bytes += bytes.length;
    this.#count += texts.length;
    return vectors;
  }

  async #made(texts: readonly string[]): Promise<Float32Array> {
    return (await this.embedder.vectorsOf(texts, this.#work)).values as Float32Array;
  }

  #counted = () => counted(this.#count, 'vector');

  /** Closes the file; one without vectors is removed. */
  async close(): Promise<void> {
    const [file, path] = [this.#file, this.#path];
    this.#file = null;
    await file?.close();
    if (file === null || path === null) return;
    if (this.#count === 0) await rm(path, { force: true });
    else this.call.say(`the same command goes on behind ${this.#counted()} in ${path}`);
  }

  /** Removes the file: the output has all vectors. */
  async remove(): Promise<void> {
    this.#count = 0;
    await this.close();
  }
}
