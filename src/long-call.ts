/** What every call that may take long accepts. */

import { wrongType } from './check';

export interface LongCall {
  /** Called between blocks of work; `done` ends at `total`. */
  onProgress?: (done: number, total: number) => void;
  /** Stops the work by throwing the signal's reason. */
  signal?: AbortSignal;
}

export const LONG_CALL = ['onProgress', 'signal'];

export function checkLongCall<T extends LongCall>(options: T): T {
  const { onProgress, signal } = options;
  if (onProgress !== undefined && typeof onProgress !== 'function') {
    throw wrongType('onProgress', 'a function', onProgress);
  }
  if (signal !== undefined && typeof signal?.throwIfAborted !== 'function') {
    throw wrongType('signal', 'an AbortSignal', signal);
  }
  return options;
}
