/**
 * JSON whose integers are not rounded. JSON.parse makes float64 of every number, so that
 * 9007199254740993 becomes another; the few lines that have such integers are read once more, with
 * those as marked texts.
 */

const MARK = '\u0000int:';
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const MARKED = /"\\u0000int:(-?\d+)"/g;

/** Most digits that float64 always holds. */
const SAFE_DIGITS = 15;

/** The value of a text that JSON.parse takes; large integers come as bigints, also within. */
export function parseExact(text: string): unknown {
  const marked = text.replace(TOKEN, (token) => {
    const isLarge = token.length > SAFE_DIGITS && /^-?\d+$/.test(token);
    return isLarge ? `"\\u0000int:${token}"` : token;
  });
  return JSON.parse(marked, (_, value) => {
    if (typeof value !== 'string' || !value.startsWith(MARK)) return value;
    const integer = BigInt(value.slice(MARK.length));
    const number = Number(integer);
    return Number.isSafeInteger(number) ? number : integer;
  });
}

/** A value as JSON; bigints as the integers that they are. */
export function exactJson(value: unknown): string {
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : 'null';
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'string') return JSON.stringify(value);
  const text = JSON.stringify(value, (_, one) => {
    return typeof one === 'bigint' ? `${MARK}${one}` : one;
  });
  return text.includes('\\u0000int:') ? text.replace(MARKED, '$1') : text;
}
