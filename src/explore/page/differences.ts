/**
 * Compares two texts word by word: which words both have, in their order, and which only one has,
 * by a longest common subsequence after equal beginnings and ends are set aside. Long texts are
 * compared by sentences first, and changed sentences by their words, so that time and memory stay
 * small and what differs is still shown where it differs.
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
/** Cells of a table, at most: above, all that lies between equal ends counts as different. */
const MAX_CELLS = 1_000_000;

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

/** Compares long texts: sentences that only one text has, between common ones, by their words. */
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
 * `otherwise` where a table would be too large.
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
  const isSmall = left.length * right.length <= MAX_CELLS;
  return [
    ...a.slice(0, start).map((text) => alone(0, text)),
    ...(isSmall ? byTable(left, right) : otherwise(left.join(''), right.join(''))),
    ...a.slice(endA).map((text) => alone(0, text)),
  ];
}

/** The pieces of two lists by their longest common subsequence. */
function byTable(a: readonly string[], b: readonly string[]): Piece[] {
  const width = b.length + 1;
  // common[i, j]: parts of the longest common subsequence of a from i on and b from j on. It is at
  // most the shorter length, which MAX_CELLS limits to 1,000, so 16 bits suffice.
  const common = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const at = i * width + j;
      common[at] =
        a[i] === b[j] ? common[at + width + 1] + 1 : Math.max(common[at + width], common[at + 1]);
    }
  }
  // From the beginning along the table: at unequal parts to where more common ones remain.
  const pieces: Piece[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const at = i * width + j;
    if (i < a.length && j < b.length && a[i] === b[j]) {
      pieces.push(alone(0, a[i++]));
      j++;
    } else if (j === b.length || (i < a.length && common[at + width] >= common[at + 1])) {
      pieces.push(alone(-1, a[i++]));
    } else pieces.push(alone(1, b[j++]));
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
