/**
 * Argument guards and their wording, in one place: TypeError for a wrong type, RangeError for a
 * wrong value, always as `"name" expected X, got Y`. A guard returns what it checked.
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
