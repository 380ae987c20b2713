/**
 * Thrown for bytes that cannot be read; names the file (where there is one) and what is wrong.
 *
 * @example
 * try {
 *   codesFromArrow(new Uint8Array(8), { file: 'codes.arrow' });
 * } catch (error) {
 *   if (error instanceof FormatError) console.log(error.file); // codes.arrow
 * }
 */
export class FormatError extends Error {
  override readonly name = 'FormatError';

  constructor(
    message: string,
    /** The file's path or the caller's label; `undefined` for bytes in memory. */
    readonly file?: string,
    options?: { cause?: unknown },
  ) {
    super(file === undefined ? message : `${file}: ${message}`, options);
  }
}
