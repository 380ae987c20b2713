/**
 * Compares two texts word by word: which words both have, in their order, and which only one has.
 * Texts with very many changes are compared by sentences first, and changed sentences by their
 * words, so that time and memory stay small and what differs is still shown where it differs.
 */

/** A run of text that both texts have (0), or only the first (-1) or the second (1). */
interface Piece {
  readonly side: -1 | 0 | 1;
  readonly text: string;
}

/** A word, one character of a script without blanks, a run of white space, or another sign. */
const WORDS = new RegExp(
  '[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}]|' +
    '[\\p{L}\\p{N}\\p{M}]+|\\s+|[\\s\\S]',
  'gu',
);
/** A sentence or a line, with the white space after it. */
const SENTENCES = /[^.!?。！？\n]*(?:[.!?。！？\n]+\s*|$)/gu;
/** Changed parts that are found one by one, at most: their square is the memory, some megabytes. */
const MAX_CHANGES = 1000;

/**
 * The pieces of both texts in their order: those of sides 0 and -1 joined are `one`, those of 0 and
 * 1 are `other`.
 */
export function differences(one: string, other: string): Piece[] {
  return joined(compared(wordsOf(one), wordsOf(other), bySentences));
}

const wordsOf = (text: string): readonly string[] => text.match(WORDS) ?? [];
const sentencesOf = (text: string) => (text.match(SENTENCES) ?? []).filter((part) => part !== '');
const alone = (side: Piece['side'], text: string): Piece => ({ side, text });
/** Two texts of which nothing is known to be common. */
const apart = (one: string, other: string) => [alone(-1, one), alone(1, other)];

/**
 * Compares texts with many changes: sentences that only one text has, between common ones, by their
 * words.
 */
function bySentences(one: string, other: string): Piece[] {
  const pieces: Piece[] = [];
  let [gone, added] = ['', ''];
  const sentences = compared(sentencesOf(one), sentencesOf(other), apart);
  for (const { side, text } of [...sentences, alone(0, '')]) {
    if (side < 0) gone += text;
    else if (side > 0) added += text;
    else {
      pieces.push(...compared(wordsOf(gone), wordsOf(added), apart), alone(0, text));
      [gone, added] = ['', ''];
    }
  }
  return pieces;
}

/**
 * The pieces of two lists, one for each part; what lies between equal ends is compared by
 * `otherwise` where there are too many changes.
 */
function compared(
  a: readonly string[],
  b: readonly string[],
  otherwise: (one: string, other: string) => Piece[],
): Piece[] {
  let start = 0;
  while (start < Math.min(a.length, b.length) && a[start] === b[start]) start++;
  let [endA, endB] = [a.length, b.length];
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) {
    endA--;
    endB--;
  }
  const [left, right] = [a.slice(start, endA), b.slice(start, endB)];
  return [
    ...a.slice(0, start).map((text) => alone(0, text)),
    ...(byChanges(left, right) ?? otherwise(left.join(''), right.join(''))),
    ...a.slice(endA).map((text) => alone(0, text)),
  ];
}

/**
 * The pieces of two lists with the fewest changes, by the algorithm of Myers (1986): its time is in
 * proportion to the lengths times the changes. Null where there are more than MAX_CHANGES. Paths
 * begin at the end of the texts, so that they are followed from the beginning.
 */
function byChanges(a: readonly string[], b: readonly string[]): Piece[] | null {
  const most = Math.min(a.length + b.length, MAX_CHANGES);
  // reach[most + k]: how many parts of a the longest path takes that takes k fewer of b.
  const reach = new Int32Array(2 * most + 2);
  const before: Int32Array[] = [];
  for (let changes = 0; changes <= most; changes++) {
    before.push(reach.slice());
    for (let k = -changes; k <= changes; k += 2) {
      const at = most + k;
      let taken = isAdded(reach, at, changes, k) ? reach[at + 1] : reach[at - 1] + 1;
      while (
        taken < a.length &&
        taken - k < b.length &&
        a[a.length - 1 - taken] === b[b.length - 1 - taken + k]
      ) {
        taken++;
      }
      reach[at] = taken;
      if (taken >= a.length && taken - k >= b.length) return traced(a, b, before);
    }
  }
  return null;
}

/** Whether the last change of a path to diagonal k, at `at`, is a part of b, not one of a. */
const isAdded = (reach: Int32Array, at: number, changes: number, k: number) =>
  k === -changes || (k !== changes && reach[at - 1] < reach[at + 1]);

/** The pieces along the path whose states before each change are `before`. */
function traced(
  a: readonly string[],
  b: readonly string[],
  before: readonly Int32Array[],
): Piece[] {
  const pieces: Piece[] = [];
  const most = (before[0].length - 2) / 2;
  let [i, j] = [0, 0];
  for (let changes = before.length - 1; changes >= 0; changes--) {
    const reach = before[changes];
    const k = a.length - i - (b.length - j);
    const added = isAdded(reach, most + k, changes, k);
    const from = changes === 0 ? 0 : added ? reach[most + k + 1] : reach[most + k - 1] + 1;
    for (; a.length - i > from; i++, j++) pieces.push(alone(0, a[i]));
    if (changes > 0) pieces.push(added ? alone(1, b[j++]) : alone(-1, a[i++]));
  }
  return pieces;
}

/**
 * Joins neighbouring pieces. What is gone and what is added are collected until the next common
 * piece; white space between changed words belongs to the change, so that it is one piece.
 */
function joined(pieces: readonly Piece[]): Piece[] {
  const all: Piece[] = [];
  let [gone, added] = ['', ''];
  const end = () => {
    if (gone !== '') all.push(alone(-1, gone));
    if (added !== '') all.push(alone(1, added));
    [gone, added] = ['', ''];
  };
  pieces.forEach(({ side, text }, i) => {
    const isBetween = i > 0 && pieces[i - 1].side !== 0 && (pieces[i + 1]?.side ?? 0) !== 0;
    if (side < 0) gone += text;
    else if (side > 0) added += text;
    else if (isBetween && gone !== '' && added !== '' && /^\s+$/.test(text)) {
      gone += text;
      added += text;
    } else if (text !== '') {
      end();
      const last = all.at(-1);
      if (last?.side === 0) all[all.length - 1] = alone(0, last.text + text);
      else all.push(alone(0, text));
    }
  });
  end();
  return all;
}
