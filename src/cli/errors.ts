/**
 * Errors of the command, and any error as one sentence for the user: what is wrong and what to do.
 * Of a system error the sentence has the path that the user typed.
 */

/**
 * Ends the command: the message is what the user reads. Exit code 1 is a failure, 2 a wrong
 * command line, 3 data that cannot be read at the next try either.
 */
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

/** The name of an output before it is whole, which its writer renames: `.plan.jsonl.0123….tmp`. */
const TEMPORARY = /(^|[/\\])\.([^/\\]+)\.[0-9a-f]{12}\.tmp$/;

const NOT_PERMITTED = 'not permitted, see its owner and mode';

/** What the system's error codes say of the path that the user typed. */
const SYSTEM: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or folder',
  EACCES: NOT_PERMITTED,
  EPERM: NOT_PERMITTED,
  EROFS: 'on a read-only file system',
  EISDIR: 'a folder, where a file is expected',
  ENOTDIR: 'a file, where a folder is expected',
  EEXIST: 'exists already; --force replaces it',
  ENOSPC: 'no space left on the device',
  EFBIG: 'larger than its file system or a limit of this process allows',
  EMFILE: 'too many open files',
};

/**
 * Any thrown value as one line: by its system code, else its message without line feeds. An error
 * of the system that has no path, as one of writing, is taken as one of `output`.
 */
export function sentenceOf(error: unknown, output = 'the output'): string {
  if (!(error instanceof Error)) return String(error);
  const { code, path, dest } = error as NodeJS.ErrnoException & { dest?: string };
  const sentence = code !== undefined && SYSTEM[code];
  // When an output is renamed into place, `path` is its temporary name and `dest` the output.
  if (sentence) return `${(dest ?? path ?? output).replace(TEMPORARY, '$1$2')}: ${sentence}`;
  return error.message.trim().replaceAll(/\s*\n\s*/g, ' ') || error.name;
}

/**
 * Turns the library's error about an argument into a misuse of the option that set it:
 * `"maxDistance" expected …` becomes `--max-distance expected …`. Undefined for other errors, and
 * where no option of that name is on the command line.
 */
export function misuseOf(
  error: unknown,
  call: { has(option: string): boolean },
): CommandError | undefined {
  if (!(error instanceof RangeError || error instanceof TypeError)) return undefined;
  const [, name, rest] = /^"(\w+)" (expected .*)$/s.exec(error.message) ?? [];
  // The option that sets a field of the library: `max-distance` for `maxDistance`.
  const option = (name ?? '').replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  if (!call.has(option)) return undefined;
  return new CommandError(`--${option} ${rest}`, 2, { cause: error });
}

/** True if the program that reads stdout has ended, as `head` does after its lines. */
export function isClosedPipe(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: string };
  return code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED';
}

export function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}

/** An error that ends the command with exit code 3: data that cannot be read at the next try. */
export function badData(message: string, options?: { cause?: unknown }): CommandError {
  return new CommandError(message, 3, options);
}

export function misuse(message: string): CommandError {
  return new CommandError(message, 2);
}
