/**
 * Errors about what comes from outside, and their wording, in one place. Of arguments: TypeError
 * for a wrong type, RangeError for a wrong value, always as `"name" expected X, got Y`; a guard
 * returns what it checked. Of bytes that cannot be read: FormatError. Also ids as callers give
 * them, and the environment.
 */

/** Largest width of a code: a distance, which is at most the width, must fit 16 bits. */
export const MAX_BITS = 65_535;

const MAX_SEED = 0xffff_ffff_ffff_ffffn;

/** A value as text in a message: a string up to 40 characters, an object by its class only. */
export function describe(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value === 'string') {
    return value.length > 40 ? `"${value.slice(0, 40)}…"` : `"${value}"`;
  }
  if (typeof value === 'object') return value.constructor?.name ?? 'an object';
  if (typeof value === 'function') return 'a function';
  return typeof value === 'bigint' ? `${value}n` : String(value);
}

/** Quotes the last word of a name, not what is around it: `row 3: ids[1]` → `row 3: "ids"[1]`. */
function quoted(name: string): string {
  return name.replace(/(\w+)((?:\[\d+\])*)$/, '"$1"$2');
}

/**
 * Runs checks on the argument `name`. A TypeError or RangeError that they throw is thrown again
 * with the name before its message, in place of "row 0: ", which names the only row of one vector.
 * Other errors pass unchanged.
 */
export function naming<T>(name: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const isOfCaller = error instanceof RangeError || error instanceof TypeError;
    if (!isOfCaller) throw error;
    const rest = error.message.replace(/^row 0: /, '');
    const between = rest.startsWith('expected ') ? ' ' : ': ';
    const Kind = error instanceof RangeError ? RangeError : TypeError;
    throw new Kind(`${quoted(name)}${between}${rest}`, { cause: error });
  }
}

/** The error for a value of a wrong type; `expected` completes the sentence. */
export function wrongType(name: string, expected: string, value: unknown): TypeError {
  return new TypeError(`${quoted(name)} expected ${expected}, got ${describe(value)}`);
}

/** The error for a value of the right type that is not allowed; `expected` as in `wrongType`. */
export function wrongValue(name: string, expected: string, value: unknown): RangeError {
  return new RangeError(`${quoted(name)} expected ${expected}, got ${describe(value)}`);
}

/**
 * Throws when an array has lost its memory: the buffer was transferred to another thread, or a
 * resizable buffer shrank. Such an array looks like an empty one, but its methods throw.
 */
export function checkAttached(name: string, values: unknown): void {
  if (!ArrayBuffer.isView(values) || values.byteLength > 0 || values instanceof DataView) return;
  try {
    (values as Uint8Array).keys();
  } catch {
    throw wrongType(name, 'an array whose memory is still there', values);
  }
}

/** An integer in `min`..`max`, both included. */
export function checkInteger(name: string, value: unknown, min: number, max: number): number {
  if (typeof value !== 'number') throw wrongType(name, 'a number', value);
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  const range = max === Number.MAX_SAFE_INTEGER ? `from ${min} on` : `in ${min}..${max}`;
  throw wrongValue(name, `an integer ${range}`, value);
}

/** A width of codes in bits: 1..`MAX_BITS`. */
export function checkBits(bits: unknown): number {
  return checkInteger('bits', bits, 1, MAX_BITS);
}

/** A distance in bits that codes of this width can have: 0..`bits`. */
export function checkMaxDistance(maxDistance: unknown, bits: number): number {
  return checkInteger('maxDistance', maxDistance, 0, bits);
}

/** A number in `min`..`max`, both included; NaN is refused. */
export function checkNumber(name: string, value: unknown, min: number, max: number): number {
  if (typeof value !== 'number') throw wrongType(name, 'a number', value);
  if (value >= min && value <= max) return value;
  throw wrongValue(name, `a number in ${min}..${max}`, value);
}

/** A seed, 0..2^64 - 1, as a bigint; a number must be a safe integer. */
export function checkSeed(seed: unknown): bigint {
  if (typeof seed === 'number' && Number.isSafeInteger(seed) && seed >= 0) return BigInt(seed);
  if (typeof seed === 'bigint' && seed >= 0n && seed <= MAX_SEED) return seed;
  if (typeof seed !== 'number' && typeof seed !== 'bigint') {
    throw wrongType('seed', 'a number or a bigint', seed);
  }
  throw wrongValue('seed', 'an integer in 0..2^64 - 1 (a bigint from 2^53 on)', seed);
}

/** One of the choices; the error lists all of them. */
export function checkOneOf<T extends string>(
  name: string,
  value: unknown,
  choices: readonly T[],
): T {
  if ((choices as readonly unknown[]).includes(value)) return value as T;
  const expected = `one of ${choices.map((choice) => `'${choice}'`).join(', ')}`;
  if (typeof value !== 'string') throw wrongType(name, expected, value);
  throw wrongValue(name, expected, value);
}

/** A string. */
export function checkText(name: string, value: unknown): string {
  if (typeof value !== 'string') throw wrongType(name, 'a string', value);
  return value;
}

/** True or false. */
export function checkBoolean(name: string, value: unknown): void {
  if (typeof value !== 'boolean') throw wrongType(name, 'true or false', value);
}

/**
 * What an option may be: one of these texts, an integer from `min` to `max`, a number from `least`
 * to `most`, or what a function does not refuse; null where the call itself checks it.
 */
type Declared =
  | readonly string[]
  | { readonly min: number; readonly max?: number }
  | { readonly least: number; readonly most: number }
  | ((name: string, value: unknown) => unknown)
  | null;

/** All options of a call, each with what it may be. */
type Declaration<T> = { readonly [K in keyof T]-?: Declared };

/**
 * A copy of the options without those that are undefined, so that spreading it over defaults keeps
 * these. Throws a TypeError for an unknown key, with the nearest known one, and for wrong values.
 */
export function checkOptions<T extends object>(
  options: T | undefined,
  declared: Declaration<NoInfer<T>>,
  name = 'options',
): T {
  if (options === undefined) return {} as T;
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw wrongType(name, 'an object', options);
  }
  const given: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(options)) {
    if (!Object.hasOwn(declared, key)) throw unknownKey(name, key, Object.keys(declared));
    if (value === undefined) continue;
    checkDeclared(key, value, declared[key as keyof T]);
    given[key] = value;
  }
  return given as T;
}

/** Fails unless a value is as it is declared. */
export function checkDeclared(name: string, value: unknown, declared: Declared): void {
  if (typeof declared === 'function') declared(name, value);
  else if (Array.isArray(declared)) checkOneOf(name, value, declared);
  else if (declared !== null && 'least' in declared) {
    checkNumber(name, value, declared.least, declared.most);
  } else if (declared !== null && 'min' in declared) {
    checkInteger(name, value, declared.min, declared.max ?? Number.MAX_SAFE_INTEGER);
  }
}

function unknownKey(name: string, key: string, known: readonly string[]): TypeError {
  const nearest = nearestName(key, known);
  const hint = nearest === null ? `it takes ${known.join(', ')}` : `did you mean "${nearest}"?`;
  return new TypeError(`"${name}" has no option "${key}", ${hint}`);
}

/**
 * The known name with the fewest edits, the first one if several have as few. At most 2 edits are
 * allowed, or half of the letters, rounded up, if that is more; a name that begins with `given`
 * counts as 1 edit. Null where no name is that near.
 */
export function nearestName(given: string, known: readonly string[]): string | null {
  let nearest: string | null = null;
  let fewest = Math.max(3, Math.ceil(given.length / 2) + 1);
  for (const name of known) {
    const edits = given !== '' && name.startsWith(given) ? 1 : editDistance(given, name);
    if (edits >= fewest) continue;
    fewest = edits;
    nearest = name;
  }
  return nearest;
}

/** Levenshtein's distance, case ignored. `costs` is one row of its table, for a prefix of `a`. */
function editDistance(a: string, b: string): number {
  const from = a.toLowerCase();
  const to = b.toLowerCase();
  let costs = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = costs[j - 1] + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, costs[j] + 1, next[j - 1] + 1));
    }
    costs = next;
  }
  return costs[to.length];
}

/** Limit of the names that a message lists, since a table may have thousands of columns. */
const MAX_LISTED = 20;

/** The error for a missing column: `no column "x", there are "a", "b"; did you mean "b"?` */
export function noColumn(name: string, names: readonly string[]): RangeError {
  const listed = names.slice(0, MAX_LISTED).map((one) => `"${one}"`);
  if (names.length > MAX_LISTED) listed.push(`and ${names.length - MAX_LISTED} more`);
  const nearest = nearestName(name, names);
  const hint = nearest === null ? '' : `; did you mean "${nearest}"?`;
  return new RangeError(`no column "${name}", there are ${listed.join(', ') || 'none'}${hint}`);
}

/** A path. */
export function checkPath(name: string, value: unknown): void {
  if (!isText(value)) throw wrongType(name, 'a path', value);
}

/** A path or several. */
export function checkPaths(name: string, value: unknown): void {
  if (!isText(value)) checkTexts(name, 'a path or an array of paths', value);
}

/** An array of names. */
export function checkNames(name: string, value: unknown): void {
  checkTexts(name, 'an array of names', value);
}

/** Where rows may come from. */
export function checkSource(name: string, value: unknown): void {
  if (typeof (value as AsyncIterable<unknown>)?.[Symbol.asyncIterator] === 'function') return;
  if (!isText(value)) checkTexts(name, 'a path, paths, or an async iterable of bytes', value);
}

function checkTexts(name: string, expected: string, value: unknown): void {
  if (!Array.isArray(value)) throw wrongType(name, expected, value);
  const wrong = value.findIndex((item) => !isText(item));
  if (wrong >= 0) throw wrongType(`${name}[${wrong}]`, 'a string', value[wrong]);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/**
 * `800M`, `1.5 GB`, `2GiB` or a plain number as bytes, rounded down; null for any other text. Each
 * unit is a power of 1,024, with or without an i.
 */
export function parseBytes(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?$/i.exec(text.trim());
  if (match === null) return null;
  const power = ['', 'k', 'm', 'g', 't'].indexOf(match[2].toLowerCase());
  return Math.floor(Number(match[1]) * 1024 ** power);
}

/** Checks an option that takes bytes, at least 1: a whole number, or a text as `512MB`. */
export function checkByteCount(name: string, value: unknown): number {
  if (typeof value !== 'number' && typeof value !== 'string') {
    throw wrongType(name, 'a number of bytes, or a text as 512MB', value);
  }
  const bytes = typeof value === 'string' ? parseBytes(value) : value;
  if (bytes !== null && Number.isSafeInteger(bytes) && bytes > 0) return bytes;
  throw wrongValue(name, 'a number of bytes, or a text as 512MB', value);
}

/** One id for each row. Integers that fit 32 bits are held in an array of 32 bits. */
export type Ids = readonly string[] | Int32Array | Uint32Array | BigInt64Array | BigUint64Array;

/**
 * Checks the `count` ids that a caller gave. Strings and typed arrays are returned as they are; an
 * array of numbers is copied to an Int32Array, or to a BigInt64Array if one of them does not fit.
 */
export function checkIds(ids: unknown, count: number): Ids {
  const checked = Array.isArray(ids) ? checkIdArray(ids) : (ids as Ids);
  const isTyped =
    checked instanceof Int32Array ||
    checked instanceof Uint32Array ||
    checked instanceof BigInt64Array ||
    checked instanceof BigUint64Array;
  if (!isTyped && !Array.isArray(checked)) {
    throw wrongType('ids', 'an array of strings or integers, or an integer array', ids);
  }
  if (checked.length !== count) throw wrongValue('ids', `${count}, one a row`, checked.length);
  return checked;
}

/** The first id decides whether all must be strings or all safe integers. */
function checkIdArray(ids: readonly unknown[]): Ids {
  const isText = typeof ids[0] === 'string';
  for (let row = 0; row < ids.length; row++) {
    if (isText ? typeof ids[row] !== 'string' : !Number.isSafeInteger(ids[row])) {
      throw wrongType(`ids[${row}]`, 'all strings or all integers', ids[row]);
    }
    // Half of a surrogate pair has no UTF-8, so a file would give back another string.
    if (isText && /\p{Surrogate}/u.test(ids[row] as string)) {
      throw wrongValue(`ids[${row}]`, 'well-formed Unicode', ids[row]);
    }
  }
  if (isText || ids.length === 0) return ids as string[];
  const integers = ids as readonly number[];
  const isNarrow = integers.every((id) => id === (id | 0));
  return isNarrow ? Int32Array.from(integers) : BigInt64Array.from(integers, BigInt);
}

/**
 * The value of an environment variable; '' where there is none, in a page, and in Deno without
 * --allow-env. Takes as long as hashing a word, so callers keep what they read.
 */
export function environmentOf(name: string): string {
  try {
    return globalThis.process?.env?.[name] ?? '';
  } catch {
    return '';
  }
}

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

/** Of a file that changed while it was read: another try may read it. */
export class ChangedError extends FormatError {}

/** What a thrown value says, which need not be an error. */
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
