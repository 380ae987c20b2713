/**
 * Compares two texts word by word: which words both have, in their order, and which only one has.
 * By a longest common subsequence of their words, after equal beginnings and ends are set aside.
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
/** Cells of the table, at most: above, all that lies between equal ends counts as different. */
const MAX_CELLS = 4_000_000;

/**
 * The pieces of both texts in their order: those of sides 0 and -1 joined are `one`, those of 0 and
 * 1 are `other`. Time and memory grow with the product of the lengths that differ.
 */
export function differences(one: string, other: string): Piece[] {
  const [a, b] = [one.match(WORDS) ?? [], other.match(WORDS) ?? []];
  let start = 0;
  while (start < Math.min(a.length, b.length) && a[start] === b[start]) start++;
  let [endA, endB] = [a.length, b.length];
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) {
    endA--;
    endB--;
  }
  return joined([
    ...a.slice(0, start).map((text): Piece => ({ side: 0, text })),
    ...middle(a.slice(start, endA), b.slice(start, endB)),
    ...a.slice(endA).map((text): Piece => ({ side: 0, text })),
  ]);
}

/** The pieces between equal beginnings and ends, one for each word. */
function middle(a: readonly string[], b: readonly string[]): Piece[] {
  const alone = (side: -1 | 1, words: readonly string[]) =>
    words.map((text): Piece => ({ side, text }));
  if (a.length * b.length > MAX_CELLS) return [...alone(-1, a), ...alone(1, b)];
  const width = b.length + 1;
  // common[i, j]: words of the longest common subsequence of a from i on and b from j on. It is at
  // most the shorter length, which MAX_CELLS limits to 2,000, so 16 bits suffice.
  const common = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const at = i * width + j;
      common[at] =
        a[i] === b[j] ? common[at + width + 1] + 1 : Math.max(common[at + width], common[at + 1]);
    }
  }
  // From the beginning along the table: at unequal words to where more common words remain.
  const pieces: Piece[] = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    const at = i * width + j;
    if (a[i] === b[j]) {
      pieces.push({ side: 0, text: a[i++] });
      j++;
    } else if (common[at + width] >= common[at + 1]) pieces.push({ side: -1, text: a[i++] });
    else pieces.push({ side: 1, text: b[j++] });
  }
  return [...pieces, ...alone(-1, a.slice(i)), ...alone(1, b.slice(j))];
}

/**
 * Joins neighbouring pieces. What is gone and what is added are collected until the next common
 * piece; white space between changed words belongs to the change, so that it is one piece.
 */
function joined(pieces: readonly Piece[]): Piece[] {
  const all: Piece[] = [];
  let [gone, added] = ['', ''];
  const end = () => {
    if (gone !== '') all.push({ side: -1, text: gone });
    if (added !== '') all.push({ side: 1, text: added });
    [gone, added] = ['', ''];
  };
  pieces.forEach(({ side, text }, i) => {
    const isBetween = i > 0 && pieces[i - 1].side !== 0 && (pieces[i + 1]?.side ?? 0) !== 0;
    if (side < 0) gone += text;
    else if (side > 0) added += text;
    else if (isBetween && gone !== '' && added !== '' && /^\s+$/.test(text)) {
      gone += text;
      added += text;
    } else {
      end();
      const last = all.at(-1);
      if (last?.side === 0) all[all.length - 1] = { side, text: last.text + text };
      else all.push({ side, text });
    }
  });
  end();
  return all;
}
