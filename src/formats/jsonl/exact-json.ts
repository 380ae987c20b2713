/**
 * JSON whose integers are not rounded. JSON.parse makes float64 of every number, so that
 * 9007199254740993 becomes another; the few lines that have such integers are parsed a second time,
 * with those as marked texts. (Node 20 has no access to the source text of a number.)
 */

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
/** How JSON writes a NUL: it must be escaped, and there is one way to do it. */
const NUL = '\\u0000';
const NULS = /(?:\\u0000)+/g;

/** Most digits that float64 always holds. */
const SAFE_DIGITS = 15;

/** The value of a text that JSON.parse takes; large integers come as bigints, also within. */
export function parseExact(text: string): unknown {
  // More NULs than any text of the line has in a row, so that none of them passes for a mark.
  const runs = Array.from(text.matchAll(NULS), ([run]) => run.length / NUL.length);
  const nuls = runs.reduce((most, run) => Math.max(most, run), 0) + 1;
  const mark = '\0'.repeat(nuls);
  const marked = text.replace(TOKEN, (token) => {
    const isLarge = token.length > SAFE_DIGITS && /^-?\d+$/.test(token);
    return isLarge ? `"${NUL.repeat(nuls)}${token}"` : token;
  });
  return JSON.parse(marked, (_, value) => {
    if (typeof value !== 'string' || !value.startsWith(mark)) return value;
    const integer = BigInt(value.slice(nuls));
    const number = Number(integer);
    return Number.isSafeInteger(number) ? number : integer;
  });
}

/** A value as JSON; bigints as the integers that they are, numbers that JSON has not as null. */
export function exactJson(value: unknown): string {
  switch (typeof value) {
    case 'number':
      return Number.isFinite(value) ? String(value) : 'null';
    case 'bigint':
    case 'boolean':
      return String(value);
    case 'object':
      break;
    default:
      return JSON.stringify(value) ?? 'null';
  }
  if (value === null) return 'null';
  // Arrays of numbers, as vectors are, are left to the engine, which is faster.
  const mayHaveBigInts = (one: unknown) => typeof one === 'bigint' || typeof one === 'object';
  if (Array.isArray(value)) {
    return value.some(mayHaveBigInts)
      ? `[${value.map(exactJson).join(',')}]`
      : JSON.stringify(value);
  }
  if (ArrayBuffer.isView(value)) return JSON.stringify(value);
  const entries = Object.entries(value).filter(([, one]) => one !== undefined);
  return `{${entries.map(([key, one]) => `${JSON.stringify(key)}:${exactJson(one)}`).join(',')}}`;
}
