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
  const words = compared(one.match(WORDS) ?? [], other.match(WORDS) ?? []);
  if (words !== null) return joined(words);
  const sentencesOf = (text: string) => (text.match(SENTENCES) ?? []).filter((part) => part !== '');
  const sentences = compared(sentencesOf(one), sentencesOf(other));
  if (sentences === null) return joined([alone(-1, one), alone(1, other)]);
  // Sentences that only one text has stand between common ones: their words are compared.
  const pieces: Piece[] = [];
  let [gone, added] = ['', ''];
  for (const { side, text } of [...sentences, alone(0, '')]) {
    if (side < 0) gone += text;
    else if (side > 0) added += text;
    else {
      const changed = compared(gone.match(WORDS) ?? [], added.match(WORDS) ?? []);
      pieces.push(...(changed ?? [alone(-1, gone), alone(1, added)]), alone(0, text));
      [gone, added] = ['', ''];
    }
  }
  return joined(pieces);
}

const alone = (side: Piece['side'], text: string): Piece => ({ side, text });

/** The pieces of two lists, one for each part; null where their table would be too large. */
function compared(a: readonly string[], b: readonly string[]): Piece[] | null {
  let start = 0;
  while (start < Math.min(a.length, b.length) && a[start] === b[start]) start++;
  let [endA, endB] = [a.length, b.length];
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) {
    endA--;
    endB--;
  }
  const width = endB - start + 1;
  if ((endA - start) * (width - 1) > MAX_CELLS) return null;
  // common[i, j]: parts of the longest common subsequence of a and b from `start` + i and + j on.
  // It is at most the shorter length, which MAX_CELLS limits to 1,000, so 16 bits suffice.
  const common = new Uint16Array((endA - start + 1) * width);
  for (let i = endA - 1; i >= start; i--) {
    for (let j = endB - 1; j >= start; j--) {
      const at = (i - start) * width + j - start;
      common[at] =
        a[i] === b[j] ? common[at + width + 1] + 1 : Math.max(common[at + width], common[at + 1]);
    }
  }
  // From the beginning along the table: at unequal parts to where more common ones remain.
  const pieces = a.slice(0, start).map((text) => alone(0, text));
  let [i, j] = [start, start];
  while (i < endA || j < endB) {
    const at = (i - start) * width + j - start;
    if (i < endA && j < endB && a[i] === b[j]) {
      pieces.push(alone(0, a[i++]));
      j++;
    } else if (j === endB || (i < endA && common[at + width] >= common[at + 1])) {
      pieces.push(alone(-1, a[i++]));
    } else pieces.push(alone(1, b[j++]));
  }
  return [...pieces, ...a.slice(endA).map((text) => alone(0, text))];
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
