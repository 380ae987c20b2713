/**
 * Numbers in CSV cells: correctly rounded, integers never rounded, lists as programs print them.
 */

/** Numbers as programs write them; 007 and +1 are names of something. */
const NUMBER = /^-?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const INTEGER = /^-?\d+$/;

/** Most digits whose number float64 holds for sure. */
const SAFE_DIGITS = 15;

const POWERS = Array.from({ length: SAFE_DIGITS + 1 }, (_, i) => 10 ** i);

/** True of a text that becomes a number; leading zeros and signs of + stay texts. */
export function isNumberText(text: string): boolean {
  return NUMBER.test(text);
}

/** The number of a text that is one; a bigint where float64 would round an integer. */
export function numberOf(text: string): number | bigint {
  if (text.length <= SAFE_DIGITS || !INTEGER.test(text)) return Number(text);
  const integer = BigInt(text);
  const number = Number(integer);
  return Number.isSafeInteger(number) ? number : integer;
}

/**
 * A plain decimal number of at most 15 digits in bytes `start` to `end - 1`, NaN for all else. Its
 * digits and the power of ten are exact, so that one division rounds correctly.
 */
export function numberAt(bytes: Uint8Array, start: number, end: number): number {
  const isNegative = bytes[start] === MINUS;
  let at = isNegative ? start + 1 : start;
  if (end - at > SAFE_DIGITS + 1 || at === end) return Number.NaN;
  const first = at;
  let digits = 0;
  let point = -1;
  for (; at < end; at++) {
    const digit = bytes[at] - ZERO;
    if (digit >= 0 && digit <= 9) digits = 10 * digits + digit;
    else if (bytes[at] === POINT && point < 0) point = at;
    else return Number.NaN;
  }
  const whole = (point < 0 ? end : point) - first;
  const decimals = point < 0 ? 0 : end - point - 1;
  if (whole === 0 && decimals === 0) return Number.NaN;
  if (whole > 1 && bytes[first] === ZERO) return Number.NaN;
  if (whole + decimals > SAFE_DIGITS) return Number.NaN;
  const number = digits / POWERS[decimals];
  return isNegative ? -number : number;
}

const MINUS = 45;
const POINT = 46;
const ZERO = 48;

/** The numbers of "[0.1, 0.2]" or "[0.1 0.2]"; null for another text. */
export function parseNumbers(text: string): number[] | null {
  const inner = /^\s*\[([^[\]]*)\]\s*$/.exec(text)?.[1].trim();
  if (inner === undefined) return null;
  if (inner === '') return [];
  const numbers = inner.split(/\s*,\s*|\s+/).map((item) => (ITEM.test(item) ? Number(item) : null));
  return numbers.includes(null) ? null : (numbers as number[]);
}

/** As numpy prints them, too: "1." and "+1e-3". */
const ITEM = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
