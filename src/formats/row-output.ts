/** What takes the bytes of an output. */

/** Where bytes go: a file that appears once it is closed, a device, or a stream. */
export interface RowOutput {
  /** Resolves once the bytes are taken; their memory may change from then on. */
  write(chunks: readonly Uint8Array[]): Promise<void>;
  /** Ends the output: a file is at its place from now on. */
  close(): Promise<void>;
  /** Gives up: nothing is left of a file. */
  abort(): Promise<void>;
}
