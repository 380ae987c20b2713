/**
 * An index as the bytes of one Arrow file, and back. Row numbers, ids and results stay as they are:
 * removed rows are left out, and leave a gap in the numbers. docs/format.md is the specification.
 */

import { wrongType } from '../base/check';
import { runSteps } from '../base/steps';
import { indexToArrow, type OpenedIndex } from '../table/sealed/index-rows';
import { headerOf } from './index-header';
import { Restoring } from './restore';
import { SavedRows } from './saved-rows';
import type { IndexState } from './state';

export { optionsOf } from './index-header';

export function bytesOfIndex(state: IndexState): Uint8Array {
  const rows = new SavedRows(state);
  const { count, equals, runs } = rows.slice(0, rows.live.length, 0);
  const { partitions } = state;
  const header = {
    ...{ kind: 'index', ...headerOf(state, rows.nextRow) },
    ...{ centres: partitions && toBase64(partitions.centroids), ...(equals && { equals }) },
  };
  return indexToArrow(header, count, runs);
}

/** Fills a new index with the rows that were saved. */
export function restoreInto(state: IndexState, { header, count, batches }: OpenedIndex): void {
  const restoring = new Restoring(state, header, { count });
  let firstRow = 0;
  for (const rows of batches()) {
    restoring.add(rows, firstRow);
    firstRow += rows.count;
  }
  const { centres } = header;
  runSteps(restoring.end(centres === null ? null : fromBase64(centres)), {});
}

/** Characters of a piece, a multiple of 4, and bytes, of 3. */
const PIECE = 3 << 12;

function toBase64(values: Int16Array): string {
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  let text = '';
  for (let at = 0; at < bytes.length; at += PIECE) {
    text += btoa(String.fromCharCode(...bytes.subarray(at, at + PIECE)));
  }
  return text;
}

function fromBase64(text: unknown): Int16Array {
  if (typeof text !== 'string') throw wrongType('centres', 'base64', text);
  const decoded = atob(text);
  const bytes = Uint8Array.from(decoded, (character) => character.charCodeAt(0));
  return new Int16Array(bytes.buffer, 0, bytes.length >> 1);
}
