/** What every call that may take long accepts. */
export interface LongCall {
  /** Called between blocks of work; `done` ends at `total`. */
  onProgress?: (done: number, total: number) => void;
  /** Stops the work by throwing the signal's reason. */
  signal?: AbortSignal;
}

export const LONG_CALL = ['onProgress', 'signal'];
