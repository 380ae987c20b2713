/**
 * `halfspace embed`: texts to vectors by a sentence model; the other columns are carried along. An
 * Arrow output keeps the model, so that an index of it embeds the texts of queries. Streams: memory
 * grows with the model, not with the rows.
 */

import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { bitmapOf } from '../../base/arrays';
import { LongWork } from '../../base/long-work';
import type { TextModel } from '../../node';
import { Embedder } from '../../text/embed';
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
  const out = await openOutput(call, { inputs: [input], header, formulas: 'keep' });
  const work = new LongWork({ signal: call.signal });
  const { dimensions } = embedder;
  let nullCount = 0;
  for await (const batch of batchesOf(call, reader)) {
    const texts = batch.texts(column).map((text) => text ?? '');
    const isThere = (row: number) => /\S/.test(texts[row]);
    const rows = [...texts.keys()].filter(isThere);
    const made = await embedder.vectorsOf(
      rows.map((row) => texts[row]),
      work,
    );
    const values = new Float32Array(texts.length * dimensions);
    for (const [i, row] of rows.entries()) {
      const vector = made.values.slice(i * dimensions, (i + 1) * dimensions);
      values.set(vector as Float32Array, row * dimensions);
    }
    nullCount += texts.length - rows.length;
    const validity = bitmapOf(texts.length, isThere);
    await out.write(batch.only(carried).with({ vector: { values, dimensions, validity } }));
  }
  await out.close();
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
