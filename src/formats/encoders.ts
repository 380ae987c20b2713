/** What turns batches into the bytes of each format. */

import { ArrowWriter, type CodeHeader } from '../table/arrow/writer';
import type { RowBatch } from '../table/row-batch';
import { csvHeader, csvLines } from './csv/csv-text';
import { jsonRows } from './jsonl/json-text';
import { parquetEncoder } from './parquet/parquet-out';
import type { RowEncoder, RowFormat } from './row-format';

/** Formats that are written. */
export const OUTPUT_FORMATS = ['arrow', 'arrows', 'parquet', 'csv', 'jsonl', 'json'] as const;
/** A format that can be written. */
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** True of formats that can be written. */
export function isOutputFormat(format: RowFormat): format is OutputFormat {
  return (OUTPUT_FORMATS as readonly string[]).includes(format);
}

/** The encoder of a format; `header` seals Arrow files, `delimiter` is between cells of CSV. */
export async function encoderOf(
  format: OutputFormat,
  { header, delimiter = ',' }: { header?: CodeHeader | string; delimiter?: string },
): Promise<RowEncoder> {
  switch (format) {
    case 'arrow':
    case 'arrows': {
      const writer = new ArrowWriter(format === 'arrow' ? 'file' : 'stream', header ?? null);
      return { encode: (batch) => writer.write(batch), finish: () => writer.finish() };
    }
    case 'parquet':
      return parquetEncoder();
    case 'csv':
      return new Lines({
        first: (batch) => csvHeader(batch, delimiter),
        rows: (batch) => csvLines(batch, delimiter),
      });
    case 'jsonl':
      return new Lines({ rows: jsonRows });
    case 'json':
      return new Lines({ rows: jsonRows, open: '[\n', between: ',\n', end: '\n]\n' });
  }
}

interface LineLayout {
  rows: (batch: RowBatch) => string[];
  /** A line before all rows. */
  first?: (batch: RowBatch) => string;
  open?: string;
  between?: string;
  end?: string;
}

/** Characters that are encoded at once, below the longest string. */
const MAX_CHARACTERS = 1 << 22;

/** A line of text a row; every batch must have the columns of the first. */
class Lines implements RowEncoder {
  readonly #layout: LineLayout;
  #names: string | null = null;
  #hasRows = false;

  constructor(layout: LineLayout) {
    this.#layout = layout;
  }

  encode(batch: RowBatch): Uint8Array[] {
    const { rows, first, open = '', between } = this.#layout;
    const parts: Uint8Array[] = [];
    const names = JSON.stringify(batch.columns.map(({ name }) => name));
    if (this.#names === null) parts.push(Buffer.from(first === undefined ? open : first(batch)));
    else if (this.#names !== names) throw new Error(`columns ${names} after ${this.#names}`);
    this.#names = names;
    let text = '';
    for (const line of rows(batch)) {
      if (between === undefined) text += `${line}\n`;
      else text += this.#hasRows ? between + line : line;
      this.#hasRows = true;
      if (text.length < MAX_CHARACTERS) continue;
      parts.push(Buffer.from(text));
      text = '';
    }
    parts.push(Buffer.from(text));
    return parts;
  }

  finish(): Uint8Array[] {
    const { open = '', end = '' } = this.#layout;
    return [Buffer.from(this.#names === null ? open + end : end)];
  }
}
