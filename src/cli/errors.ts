/**
 * Errors of the command, and any error as one sentence: what is wrong and what to do. A system
 * error names the path that the user typed.
 */

/** Ends the command with a sentence: 1 failed, 2 misuse, 3 bad data, which would fail again. */
export class CommandError extends Error {
  override readonly name = 'CommandError';

  constructor(
    message: string,
    readonly exitCode: 1 | 2 | 3,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

/** What the system's error codes mean to whoever typed a path. */
const SYSTEM: Record<string, (path: string) => string> = {
  ENOENT: (path) => `${path}: no such file or folder`,
  EACCES: (path) => `${path}: not permitted, see its owner and mode`,
  EPERM: (path) => `${path}: not permitted, see its owner and mode`,
  EROFS: (path) => `${path}: on a read-only file system`,
  EISDIR: (path) => `${path}: a folder, where a file is expected`,
  ENOTDIR: (path) => `${path}: a file, where a folder is expected`,
  EEXIST: (path) => `${path}: exists already; --force replaces it`,
  ENOSPC: (path) => `${path}: no space left on the device`,
  EMFILE: (path) => `${path}: too many open files`,
};

/** The sentence of any error. */
export function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, path, dest } = error as NodeJS.ErrnoException & { dest?: string };
  const sentence = code !== undefined && SYSTEM[code];
  if (sentence) return sentence(dest ?? path ?? 'the output');
  return error.message.trim().replaceAll(/\s*\n\s*/g, ' ') || error.name;
}

/**
 * The library's error about an argument as a misuse of the option that brought it: `"maxDistance"
 * expected …` becomes `--max-distance expected …`. Undefined where no option of that name is given.
 */
export function misuseOf(
  error: unknown,
  call: { has(option: string): boolean },
): CommandError | undefined {
  if (!(error instanceof RangeError || error instanceof TypeError)) return undefined;
  const [, name, rest] = /^"(\w+)" (expected .*)$/s.exec(error.message) ?? [];
  const option = name?.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  if (option === undefined || !call.has(option)) return undefined;
  return new CommandError(`--${option} ${rest}`, 2, { cause: error });
}

/** The pipe's reader has gone, as `head` does. */
export function isClosedPipe(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: string };
  return code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED';
}

/** True of the error of an aborted signal. */
export function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}

/** An error that ends the command with exit code 2: the command line is wrong. */
export function misuse(message: string): CommandError {
  return new CommandError(message, 2);
}
