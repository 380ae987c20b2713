/**
 * Numbers and texts for people: thousands by commas, sizes in bytes, durations, shares, lines for a
 * shell, excerpts of texts. The same in every locale.
 */

import type { Measure } from '../../codes/measure';
import { counted, grouped } from '../../explorer/format';

export { counted, grouped };

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'] as const;

/** Bytes by powers of 1024, as `1.5 GB`. */
export function bytesText(bytes: number): string {
  let unit = 0;
  let value = bytes;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  const digits = unit === 0 || value >= 100 ? 0 : 1;
  return `${value.toFixed(digits)} ${UNITS[unit]}`;
}

/** Seconds as `8 s`, `3 min 20 s` or `2 h 5 min`. */
export function durationText(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/** A rate as `1.2 M`, `45 k` or `310`. */
export function rateText(value: number): string {
  if (value >= 1e6) return `${(value / 1e6).toFixed(1)} M`;
  if (value >= 1e4) return `${(value / 1e3).toFixed(0)} k`;
  return value.toFixed(value < 10 ? 1 : 0);
}

/** So many digits after the point; a zero has no sign. */
export function fixed(value: number, digits = 2): string {
  return value
    .toFixed(digits)
    .replace(/^-(0(?:\.0*)?)$/, '$1')
    .replace('-', '−');
}

/** Without digits that say nothing: 0.25, 3, 12,000. */
export function plain(value: number): string {
  const rounded = Number(value.toPrecision(6));
  if (Number.isInteger(rounded)) return `${rounded < 0 ? '−' : ''}${grouped(Math.abs(rounded))}`;
  return String(rounded).replace('-', '−');
}

/** A share in per cent, with a digit more where it is small; 100 % is all of them. */
export function percent(share: number): string {
  const value = 100 * share;
  if (value === 0 || value === 100) return `${value} %`;
  if (value < 0.01) return '< 0.01 %';
  if (value > 99.9) return '> 99.9 %';
  return `${value.toFixed(value < 1 ? 2 : 1)} %`;
}

/** Words as one line for a shell: what needs quotes has them. */
export function commandLine(words: readonly string[]): string {
  return words
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(' ');
}

/**
 * What a terminal would obey in place of showing it: controls of C0 and C1 other than line feeds
 * and tabs, marks that turn the direction of the text around them, further ends of lines, and
 * halves of characters.
 */
const OBEYED = /[^\P{Cc}\n\t]|[\p{Bidi_C}\u2028\u2029]|\p{Cs}/gu;

/** Text of a user's file with a visible sign for each character that a terminal would obey. */
export function printable(text: string): string {
  return text.replaceAll(OBEYED, '\u{fffd}');
}

/** Characters that take two columns: of East Asia, and pictures. */
const WIDE = new RegExp(
  '[\\u1100-\\u115f\\u2e80-\\u303e\\u3041-\\ua4cf\\uac00-\\ud7a3\\uf900-\\ufaff\\ufe30-\\ufe6f' +
    '\\uff00-\\uff60\\uffe0-\\uffe6\\u{1f300}-\\u{1faff}\\u{20000}-\\u{3fffd}]',
  'u',
);

/** Columns of a terminal that a text takes; marks above other characters take none. */
export function columnsOfText(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  const columns = Array.from(text, (one) => (/\p{Mn}/u.test(one) ? 0 : WIDE.test(one) ? 2 : 1));
  return columns.reduce<number>((sum, one) => sum + one, 0);
}

/** Words in lines of at most `width` columns. */
export function wrapped(text: string, width: number): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines[lines.length - 1];
    if (line !== '' && line.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines;
}

/** Characters of an excerpt. */
const WIDTH = 60;
/** What is shown before the place where two texts differ. */
const BEFORE = 16;

/** At most `most` characters of a text, whole ones. */
export function beginning(text: string, most: number): string {
  return text.length <= most ? text : cut(text, 0, most);
}

/** The beginning of a text in one line of at most so many characters, without invisible ones. */
export function excerpt(text: string, most = WIDTH): string {
  return cut(inOneLine(text), 0, most);
}

/** Excerpts of two texts from where they begin to differ; of short texts all is shown. */
export function differing(one: string, other: string): [string, string] {
  const [a, b] = [inOneLine(one), inOneLine(other)];
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  const isShort = Math.max(a.length, b.length) <= WIDTH;
  const blank = a.lastIndexOf(' ', Math.max(0, at - BEFORE));
  const from = isShort || at <= WIDTH / 2 ? 0 : Math.max(0, blank + 1);
  return [cut(a, from, WIDTH), cut(b, from, WIDTH)];
}

/** At most `most` characters from a position on, with a … where some are left out. */
function cut(text: string, from: number, most: number): string {
  const characters = Array.from(text.slice(from, from + 4 * most));
  const isWhole = characters.length <= most;
  const shown = isWhole ? characters : characters.slice(0, most - 1);
  return `${from > 0 ? '…' : ''}${shown.join('')}${isWhole ? '' : '…'}`;
}

/** White space, control characters and invisible ones as single blanks. */
function inOneLine(text: string): string {
  return text.replaceAll(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim();
}

/** What a similarity is called in a sentence. */
export function similarityWords({ name }: Measure): string {
  return name === 'jaccard' ? 'Jaccard similarity' : 'cosine';
}
