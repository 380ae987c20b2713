/**
 * Thrown for bytes that cannot be read; names the file and what is wrong.
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
    /** Path or label of the file, if there is one. */
    readonly file?: string,
    options?: { cause?: unknown },
  ) {
    super(file === undefined ? message : `${file}: ${message}`, options);
  }
}

/** What a thrown value says: any value can be thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/**
 * Runs `read` and returns its result. An error that it throws, or that its promise rejects with, is
 * wrapped in a FormatError that names the file, with `problem` before the message; the first error
 * is its `cause`. A FormatError passes unchanged.
 */
export function asFormatError<T>(file: string | undefined, read: () => T, problem?: string): T {
  const fail = (cause: unknown): never => {
    if (cause instanceof FormatError) throw cause;
    const message = messageOf(cause);
    throw new FormatError(problem ? `${problem}: ${message}` : message, file, { cause });
  };
  try {
    const result = read();
    return result instanceof Promise ? (result.catch(fail) as T) : result;
  } catch (cause) {
    return fail(cause);
  }
}
