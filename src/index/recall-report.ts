/** The recall that was measured on an index's own rows: written in the index, and told with it. */

import type { Rank } from './index-options';

/** What `optimize` chose, and what was measured with it. */
export interface RecallReport {
  /** What was asked for, and whether the measured recall is as high. */
  readonly wanted: number;
  readonly reached: boolean;
  /** Share of the true k nearest that were found, with Wilson's 95 % interval. */
  readonly recall: number;
  readonly interval: readonly [low: number, high: number];
  readonly k: number;
  readonly rank: Rank;
  /** What the true neighbours were ranked by. */
  readonly truth: 'cosine' | 'distance';
  /** Held-out rows measured with; others were used to choose. */
  readonly queries: number;
  readonly queriesPerSecond: number;
  readonly method: 'scan' | 'partitions';
  readonly partitions: number;
  readonly probes: number;
  readonly oversample: number;
  /** Rows that were there, and how many came or went since. */
  readonly rows: number;
  readonly rowsAdded: number;
  readonly rowsRemoved: number;
}
