/**
 * What `calibrate` has measured, in one form for its three outputs: text for a terminal, a page,
 * and data for programs. All three have the same figures; text and page the same sentences.
 */

import type { Held, Section } from '../../explorer/messages';
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
  /** The figure as lines of characters, for the text; the page has `figure` in its place. */
  readonly letters?: string;
  readonly figure?: Pick<Section, 'chart' | 'sentences'>;
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

/** The findings as what a page in one file holds; the recommendation comes first. */
export function findingsPage({ heading, sentences, parts }: Findings): Held {
  const sections = parts.map(
    ({ name, heading: own, sentence, command, cells, figure }): Section => ({
      ...{ name, heading: own, command },
      sentences: [...(sentence === undefined ? [] : [sentence]), ...(figure?.sentences ?? [])],
      ...(figure !== undefined && { chart: figure.chart }),
      ...(cells !== undefined && { table: { head: cells[0], rows: cells.slice(1) } }),
    }),
  );
  const base = { name: 'base', heading, sentences };
  return {
    ...{ title: heading, about: null, map: null, cards: [], codes: null },
    health: {
      sections: [base, ...sections.slice(-1), ...sections.slice(0, -1)],
      ...{ thresholds: [], sets: [], recommended: null, minCosine: 0 },
    },
  };
}
