import { describe, expect, it } from 'vitest';
import {
  drawnRuns,
  eachRun,
  RunFilter,
  RunTable,
  WINDOW,
} from '../../../src/cli/passages/repeated-runs';
import { WordPlaces } from '../../../src/cli/passages/word-places';
import { wordsIn } from '../../../src/text/tokens';
import { Draws } from '../../reference/random';

const draws = new Draws('repeated runs');
const readIn = (text: string, letterCase: 'lower' | 'keep' = 'lower') => {
  const places = new WordPlaces(letterCase, 1);
  places.read(text);
  return places;
};

describe('WordPlaces', () => {
  it('has the words that `words` finds, where they are, with equal hashes for equal words', {
    tags: 'thorough',
  }, () => {
    const letters = [...'aZé9 ,ﬁß東京한글Σσ\u0301ｱ🦊\ud800İ', '\n', 'e\u0301', '<', '̸'];
    for (const letterCase of ['lower', 'keep'] as const) {
      const hashOf = new Map<string, string>();
      for (let i = 0; i < 3000; i++) {
        const length = draws.integer(30);
        const text = Array.from({ length }, () => letters[draws.integer(letters.length)]).join('');
        const places = readIn(text, letterCase);
        const own = places.words(0, places.count);
        expect([text, own]).toEqual([text, wordsIn(text, letterCase)]);
        own.forEach((word, at) => {
          const part = text.slice(places.starts[at], places.ends[at]);
          expect(wordsIn(part, letterCase)).toContain(word);
          const hash = `${places.low[at]} ${places.high[at]}`;
          expect(hashOf.get(word) ?? hash).toBe(hash);
          hashOf.set(word, hash);
        });
      }
      expect(new Set(hashOf.values()).size).toBe(hashOf.size);
    }
  });
});

describe('runs of words', () => {
  const text = (count: number, kinds = 50) =>
    Array.from({ length: count }, () => `w${draws.integer(kinds)}`).join(' ');

  it('have equal hashes where their words are equal, wherever they are', () => {
    const known = new Map<string, string>();
    for (let i = 0; i < 300; i++) {
      const places = readIn(text(40, 2));
      const own = places.words(0, places.count);
      let runs = 0;
      eachRun(places, 16, (at, low, high) => {
        expect(at).toBe(runs++);
        const key = own.slice(at, at + 16).join(' ');
        const hash = `${low} ${high}`;
        expect(known.get(key) ?? hash).toBe(hash);
        known.set(key, hash);
      });
      expect(runs).toBe(own.length - 15);
    }
    expect(new Set(known.values()).size).toBe(known.size);
  });

  it('are drawn one of each window, the same ones in any text', () => {
    for (let i = 0; i < 300; i++) {
      const shared = text(20 + WINDOW - 1, 3);
      const drawnOf = (places: WordPlaces) => {
        const { low, high, at } = drawnRuns(places, 20);
        at.slice(1).forEach((one, j) => {
          expect(one - at[j]).toBeLessThanOrEqual(WINDOW);
        });
        return low.map((half, j) => `${half} ${high[j]}`);
      };
      const one = drawnOf(readIn(`${text(draws.integer(40))} ${shared} ${text(30)}`));
      const other = new Set(drawnOf(readIn(`${text(draws.integer(40))} ${shared}`)));
      expect(one.some((run) => other.has(run))).toBe(true);
    }
  });

  it('are counted by document, of a small table some of them, and these as of a large one', () => {
    const pieces = Array.from({ length: 40 }, () => text(60));
    const drawn = Array.from({ length: 200 }, () => {
      const own = [0, 0].map(() => pieces[draws.integer(pieces.length)]);
      return drawnRuns(readIn([text(5), ...own, text(draws.integer(50))].join(' ')), 20);
    });
    const documents = new Map<string, Set<number>>();
    const filter = new RunFilter(1);
    drawn.forEach(({ low, high }, row) => {
      low.forEach((half, i) => {
        filter.add(high[i]);
        const key = `${half} ${high[i]}`;
        documents.set(key, (documents.get(key) ?? new Set()).add(row));
      });
    });
    for (const places of [2 ** 16, 2 ** 8]) {
      const table = new RunTable(filter, places);
      for (const [row, one] of drawn.entries()) table.add(row, one);
      expect(table.level > 0).toBe(places === 2 ** 8);
      let kept = 0;
      for (const [key, rows] of documents) {
        const [low, high] = key.split(' ').map(Number);
        if (!table.isDrawn(low)) continue;
        const place = table.repeated(low, high);
        expect(place < 0 ? 1 : table.columns.documents[place]).toBe(rows.size);
        if (place < 0) continue;
        expect(table.columns.firstRow[place]).toBe(Math.min(...rows));
        kept++;
      }
      expect(kept).toBeGreaterThan(20);
    }
  });
});
