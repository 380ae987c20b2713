/**
 * What `calibrate` has measured, in one form for its outputs: text for a terminal, and data for
 * programs, with the same figures.
 */

import { wrapped } from './figures';
import { aligned } from './table';

/** Columns of the text; tables may be wider. */
const WIDTH = 96;

/** What text and page say under one heading. */
export interface Part {
  /** Identifies the section of the page. */
  readonly name: string;
  readonly heading: string;
  readonly sentence?: string;
  /** A command line to copy. */
  readonly command?: string;
  /** A table: its headings, then its rows. The first `texts` columns are set to the left. */
  readonly cells?: string[][];
  readonly texts?: number;
  /** A figure as lines of characters. */
  readonly letters?: string;
}

/** What was measured, ready for all outputs. */
export interface Findings {
  readonly heading: string;
  /** What was measured, and how. */
  readonly sentences: readonly string[];
  /** The recommendation is the last one. */
  readonly parts: readonly Part[];
  /** The figures for --json. */
  readonly data: object;
}

/** The findings as text, with the recommendation last: next to the user's prompt. */
export function findingsText({ sentences, parts }: Findings): string {
  const filled = (text: string) => wrapped(text, WIDTH).join('\n');
  const texts = parts.map(({ heading, command, cells, letters, sentence, texts: count = 0 }) => {
    const shown = command === undefined ? letters : `  ${command}`;
    const below = shown ?? aligned(cells ?? [], { isRight: (column) => column >= count });
    return `${heading}\n${below}${sentence === undefined ? '' : `\n\n${filled(sentence)}`}`;
  });
  return `${[filled(sentences.join(' ')), ...texts].join('\n\n')}\n`;
}
