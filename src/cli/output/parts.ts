/**
 * What a verb has measured, for people as text for a terminal or as a page, and as data for
 * machines. All three show the same figures, in the same sentences.
 */

import type { Held, Section } from '../../explorer/messages';
import { wrapped } from './figures';
import { aligned } from './table';

/** Columns of the text. */
const WIDTH = 96;

/** What both the text and the page say under one heading. */
export interface Part {
  readonly name: string;
  readonly heading: string;
  readonly sentence?: string;
  /** To be copied as it is. */
  readonly command?: string;
  /** Rows of cells below their headings; the first `texts` columns hold no numbers. */
  readonly cells?: string[][];
  readonly texts?: number;
  /** Stands for the figure where there are letters only. */
  readonly letters?: string;
  readonly figure?: Pick<Section, 'chart' | 'sentences'>;
}

/** All that is said, the recommendation last. */
export interface Told {
  readonly heading: string;
  /** What was measured, and how. */
  readonly sentences: readonly string[];
  readonly parts: readonly Part[];
  readonly data: object;
}

/** As text of at most 96 columns, wider tables apart. */
export function toldText({ sentences, parts }: Told): string {
  const filled = (text: string) => wrapped(text, WIDTH).join('\n');
  const texts = parts.map(({ heading, command, cells, letters, sentence, texts: count = 0 }) => {
    const shown = command === undefined ? letters : `  ${command}`;
    const below = shown ?? aligned(cells ?? [], { isRight: (column) => column >= count });
    return `${heading}\n${below}${sentence === undefined ? '' : `\n\n${filled(sentence)}`}`;
  });
  return `${[filled(sentences.join(' ')), ...texts].join('\n\n')}\n`;
}

/** As what a page holds, the recommendation first. */
export function toldPage({ heading, sentences, parts }: Told): Held {
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
