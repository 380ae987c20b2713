/**
 * A limit on what is in memory of a source that cannot be read in small pieces: the window of ZSTD,
 * or a stream whose format has its schema last. It is checked before the memory is taken.
 */

export interface HoldLimit {
  readonly bytes: number;
  /** The error for a source of which so many bytes must be held. */
  readonly refusal: (name: string, bytes: number) => Error;
}

/** Throws the refusal of a limit where so many bytes exceed it; without a limit never. */
export function checkHeld(limit: HoldLimit | undefined, name: string, bytes: number): void {
  if (limit !== undefined && bytes > limit.bytes) throw limit.refusal(name, bytes);
}
