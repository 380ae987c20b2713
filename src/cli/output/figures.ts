/**
 * Numbers and texts as people read them: thousands by commas, durations, shares, excerpts,
 * texts without characters that a terminal would obey, what `optimize` measured, and tables. The
 * same in every locale.
 */

import type { Measure } from '../../codes/measure';
import { counted, grouped } from '../../explore/messages';
import type { RecallReport } from '../../node';

export { counted, grouped };

/** Seconds as `8.0 s`, `12 s`, `3 min 20 s` or `2 h 5 min`. */
export function durationText(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/**
 * A share as per cent, with two digits below 1 %. Only 0 and 1 are `0 %` and `100 %`: what rounds
 * to them is `< 0.01 %` or `> 99.9 %`.
 */
export function percent(share: number): string {
  const value = 100 * share;
  if (value === 0 || value === 100) return `${value} %`;
  if (value < 0.01) return '< 0.01 %';
  if (value > 99.9) return '> 99.9 %';
  return `${value.toFixed(value < 1 ? 2 : 1)} %`;
}

/**
 * What a terminal would obey in place of showing it: control characters (C0 and C1) other than line
 * feeds and tabs, marks that turn the direction of the text around them, the two separators of
 * lines and paragraphs, and unpaired surrogates.
 */
const OBEYED = /[^\P{Cc}\n\t]|[\p{Bidi_C}\u2028\u2029]|\p{Cs}/gu;

/** A text with U+FFFD, `�`, in place of each character that a terminal would obey. */
export function printable(text: string): string {
  return text.replaceAll(OBEYED, '\u{fffd}');
}

/** Breaks a text at blanks into lines of at most `width` characters; longer words stay whole. */
export function wrapped(text: string, width: number): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines[lines.length - 1];
    if (line !== '' && line.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines;
}

/** Characters looked at for each that is shown: to put 100 MB on one line takes a gigabyte. */
const SCANNED = 64;

/** The first `most` characters of a text, by code point; of a longer one the last is a …. */
export function beginning(text: string, most: number): string {
  return text.length <= most ? text : cut(text, most);
}

/** The beginning of a text on one line, at most so many characters, without invisible ones. */
export function excerpt(text: string, most: number): string {
  return cut(
    text
      .slice(0, SCANNED * most)
      .replaceAll(BLANKS, ' ')
      .trim(),
    most,
  );
}

/** At most `most` characters, the last a … where some are left out. */
function cut(text: string, most: number): string {
  // Array.from splits by code points; the slice bounds the work on a long text.
  const characters = Array.from(text.slice(0, 2 * most + 2));
  if (characters.length <= most) return text;
  return `${characters.slice(0, most - 1).join('')}…`;
}

/** White space, control and format characters: a run of them is shown as one blank. */
const BLANKS = /[\s\p{Cc}\p{Cf}]+/gu;

export function similarityWords({ name }: Pick<Measure, 'name'>): 'cosine' | 'Jaccard similarity' {
  return name === 'jaccard' ? 'Jaccard similarity' : 'cosine';
}

/** By which order neighbours are the true ones, by `truth` of a report. */
const NEAREST = { cosine: 'by exact cosine', distance: 'by distance of codes' };

/**
 * `96.1 % of the true 10 nearest by exact cosine (95 %: 95.2 % to 96.8 %, 500 rows held out)`; of
 * the queries of a file also which of them chose the setting.
 */
export function recallWords(
  report: RecallReport,
  asked: { readonly file: string; readonly count: number } | null = null,
): string {
  const { k, truth, queries, source, recall } = report;
  const [low, high] = report.interval.map(percent);
  let which = source === 'rows' ? `${counted(queries, 'row')} held out` : `${queries} queries`;
  if (asked !== null) {
    const { file, count } = asked;
    which = `${queries} of the ${count} queries of ${file}, the others chose the setting`;
  }
  const found = `${percent(recall)} of the true ${k} nearest ${NEAREST[truth]}`;
  return `${found} (95 %: ${low} to ${high}, ${which})`;
}

/** Cells of numbers, as `1,234`, `−0.5`, `3 of 40` or `–` for none. */
const NUMBER = /^(?:[+\-−]?[\d,]*\.?\d+(?:e[+-]?\d+)?(?: of [\d,]+)?|–?)$/;
/** Characters of a cell, at most, but in the last column, where texts are. */
const CELL = 40;

/**
 * Rows as lines of cells in columns, of which the longest lines are cut to `width` characters.
 * Columns of numbers below the first row are set to the right.
 */
export function tableLines(
  rows: readonly (readonly string[])[],
  width = Number.POSITIVE_INFINITY,
): string[] {
  const last = rows[0].length - 1;
  const columns = rows[0].map((_, i) => {
    const cells = rows.map((row) => (i < last ? beginning(row[i], CELL) : row[i]));
    const wide = Math.max(...cells.map((cell) => cell.length));
    const areNumbers = cells.slice(1).every((cell) => NUMBER.test(cell));
    return cells.map((cell) => (areNumbers ? cell.padStart(wide) : cell.padEnd(wide)));
  });
  return rows.map((_, at) => {
    const line = columns.map((cells) => cells[at]).join('  ');
    return beginning(line.trimEnd(), width);
  });
}

/** The same as one text, each line indented by two blanks. */
export function aligned(rows: readonly (readonly string[])[], width?: number): string {
  return tableLines(rows, width)
    .map((line) => `  ${line}`)
    .join('\n');
}

/** A replacer for JSON.stringify: bigints become texts, typed arrays become arrays. */
export function jsonOf(_: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  return ArrayBuffer.isView(value) ? Array.from(value as Float32Array) : value;
}
