/** What a save is asked for. */

import type { LongCall } from '../base/steps';
import type { RowBatch } from '../table/row-batch';
import type { FrequencyTable } from '../text/frequency-table';
import type { Manifest, TextSettings } from './manifest';
import type { Origin } from './origin';

export interface SaveIndexOptions extends LongCall {
  /** Columns to carry next to the rows: a row for each row that is there, in their order. */
  columns?: RowBatch;
  /** How texts became vectors, so that a query's text can. Kept when it is not given again. */
  text?: TextSettings;
  /** The document frequencies that weighted the texts. Kept when it is not given again. */
  frequencies?: FrequencyTable;
  /** True to put the index in place of one that it was not opened from. */
  replace?: boolean;
}

/** What to save, and over what. */
export interface SaveRequest {
  readonly folder: string;
  readonly base: Manifest | null;
  /** Null where the index is new to the folder: nothing there is kept. */
  readonly origin: Origin | null;
  readonly given: SaveIndexOptions;
  /** Columns of the rows that were added only. */
  readonly addedColumns?: RowBatch | undefined;
  /** True to write all rows. */
  readonly isWhole?: boolean;
}
