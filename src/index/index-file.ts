/**
 * An index as the bytes of one Arrow file, and back. Row numbers, ids and results stay as they are;
 * removed rows are left out and leave a gap in the numbers (docs/format.md). Free functions, so
 * that a bundle of `SimHashIndex` alone has no apache-arrow in it.
 */

import { checkOptions, wrongType } from '../base/check';
import { runSteps } from '../base/steps';
import { type ArrowSource, asFormatError } from '../table/arrow/source';
import { indexToArrow as bytesOf, indexFromArrow as openedFrom } from '../table/sealed/index-rows';
import { headerOf, optionsOf } from './index-header';
import { Restoring } from './restore';
import { SavedRows } from './saved-rows';
import { partsOf, SimHashIndex } from './simhash-index';

/**
 * The index as the bytes of one Arrow file, which any Arrow reader opens.
 *
 * @example
 * const index = new SimHashIndex<string>();
 * index.add([1, 0], 'a');
 * console.log(codesFromArrow(indexToArrow(index)).ids); // [ 'a' ]
 */
export function indexToArrow(index: SimHashIndex): Uint8Array {
  if (!(index instanceof SimHashIndex)) throw wrongType('index', 'a SimHashIndex', index);
  const parts = partsOf(index);
  parts.refuseIfBusy();
  const rows = new SavedRows(parts);
  const { count, equals, runs } = rows.slice(0, rows.live.length, 0);
  const { partitions } = parts;
  const header = {
    ...{ kind: 'index', ...headerOf(parts, rows.nextRow) },
    ...{ centres: partitions && toBase64(partitions.centroids), ...(equals && { equals }) },
  };
  return bytesOf(header, count, runs);
}

/**
 * An index that `indexToArrow` wrote. Damaged bytes throw a FormatError, with the name given by
 * `file`.
 *
 * @example
 * const index = new SimHashIndex<string>();
 * index.add([1, 0], 'a');
 * console.log(indexFromArrow(indexToArrow(index)).search([1, 0]).ids); // [ 'a' ]
 */
export function indexFromArrow(source: ArrowSource, options?: { file?: string }): SimHashIndex {
  const { file } = checkOptions('options', options, ['file']);
  const opened = openedFrom(source, file);
  return asFormatError(file, () => {
    const index = new SimHashIndex(optionsOf(opened));
    const { header, count, batches } = opened;
    const restoring = new Restoring(partsOf(index), header, { count });
    let firstRow = 0;
    for (const rows of batches()) {
      restoring.add(rows, firstRow);
      firstRow += rows.count;
    }
    const { centres } = header;
    runSteps(restoring.end(centres === null ? null : fromBase64(centres)), {});
    return index;
  });
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
