/**
 * A table of document frequencies in and out of Arrow: columns dimension and documents, what it
 * was made with and how many documents were counted as JSON in the schema; sealed like codes.
 */

import { type Data, Field, makeData, type RecordBatch, Schema, Uint32, Uint64 } from 'apache-arrow';
import { checkInteger } from '../../base/check';
import { arrowBytes } from '../arrow/bytes';
import { type ArrowSource, asFormatError, chunksOf, openArrow } from '../arrow/source';
import { FORMAT_VERSION, KEY, openSealed, sealedBatch } from './seal';

export interface FrequencyColumns {
  readonly tokens: string;
  readonly hash: string;
  readonly documents: number;
  readonly dimensions: BigUint64Array;
  readonly counts: Uint32Array;
}

const KIND = 'frequencies';
const BATCH_ROWS = 65_536;

export function writeFrequencies(columns: FrequencyColumns): Uint8Array {
  const { tokens, hash, documents, dimensions, counts } = columns;
  const header = { version: FORMAT_VERSION, kind: KIND, tokens, hash, documents };
  const schema = new Schema(
    [new Field('dimension', new Uint64(), false), new Field('documents', new Uint32(), false)],
    new Map([[KEY, JSON.stringify(header)]]),
  );
  const { length: total } = counts;
  const batches: RecordBatch[] = [];
  for (let first = 0; first === 0 || first < total; first += BATCH_ROWS) {
    const end = Math.min(total, first + BATCH_ROWS);
    const length = end - first;
    const part = { length, nullCount: 0 };
    const children: Data[] = [
      makeData({ type: new Uint64(), ...part, data: dimensions.slice(first, end) }),
      makeData({ type: new Uint32(), ...part, data: counts.slice(first, end) }),
    ];
    batches.push(sealedBatch(schema, children, first, end === total));
  }
  return arrowBytes('file', schema, batches);
}

export function readFrequencies(source: ArrowSource, file?: string): FrequencyColumns {
  const opened = openArrow(source, file);
  return asFormatError(file, () => {
    const header = openSealed(opened) as unknown as Record<string, unknown> | null;
    if (header?.kind !== KIND) throw new Error('not a table of document frequencies');
    const { tokens, hash } = header;
    if (typeof tokens !== 'string' || typeof hash !== 'string') {
      throw new Error('damaged: it does not say by which tokens and which hash it was made');
    }
    const documents = checkInteger('documents', header.documents, 0, Number.MAX_SAFE_INTEGER);
    const dimensions = new BigUint64Array(opened.count);
    const counts = new Uint32Array(opened.count);
    for (const [name, out, Type] of [
      ['dimension', dimensions, BigUint64Array],
      ['documents', counts, Uint32Array],
    ] as const) {
      for (const { data, firstRow } of chunksOf(opened, name)) {
        if (!(data.values instanceof Type)) throw new Error(`column "${name}" is of another type`);
        out.set(data.values.subarray(0, data.length) as never, firstRow);
      }
    }
    return { tokens, hash, documents, dimensions, counts };
  });
}
