/**
 * Two texts word by word: what both have in their order, and what one has alone, by a longest
 * common subsequence of their words after equal beginnings and ends are set aside.
 */

/** Words that both texts have, or one alone: `-1` the first, `1` the second. */
interface Piece {
  readonly side: -1 | 0 | 1;
  readonly text: string;
}

/** Words, single characters of scripts without blanks, white space, other signs. */
const WORDS = new RegExp(
  '[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}]|' +
    '[\\p{L}\\p{N}\\p{M}]+|\\s+|[\\s\\S]',
  'gu',
);
/** Products of lengths above which the part that differs is taken as a whole. */
const MAX_CELLS = 4_000_000;

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

function middle(a: readonly string[], b: readonly string[]): Piece[] {
  const alone = (side: -1 | 1, words: readonly string[]) =>
    words.map((text): Piece => ({ side, text }));
  if (a.length * b.length > MAX_CELLS) return [...alone(-1, a), ...alone(1, b)];
  const width = b.length + 1;
  // By position in both, words that can still be common; 65,535 words are never reached.
  const common = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const at = i * width + j;
      common[at] =
        a[i] === b[j] ? common[at + width + 1] + 1 : Math.max(common[at + width], common[at + 1]);
    }
  }
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

/** Neighbours of one side as one; blanks between changed words belong to the change. */
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
