/** A line of a text for a person: white space as one blank, nothing that a terminal would obey. */

const WIDTH = 60;
/** What is shown before the place where two texts differ. */
const BEFORE = 16;

export function excerpt(text: string): string {
  return cut(plain(text), 0);
}

/** Two texts where they begin to differ. */
export function differing(one: string, other: string): [string, string] {
  const [a, b] = [plain(one), plain(other)];
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  // All of both is shown where that is possible.
  const isShort = Math.max(a.length, b.length) <= WIDTH;
  const blank = a.lastIndexOf(' ', Math.max(0, at - BEFORE));
  const from = isShort || at <= WIDTH / 2 ? 0 : Math.max(0, blank + 1);
  return [cut(a, from), cut(b, from)];
}

function cut(text: string, from: number): string {
  const characters = Array.from(text.slice(from, from + 4 * WIDTH));
  const isWhole = characters.length <= WIDTH;
  const shown = isWhole ? characters : characters.slice(0, WIDTH - 1);
  return `${from > 0 ? '…' : ''}${shown.join('')}${isWhole ? '' : '…'}`;
}

function plain(text: string): string {
  return text.replaceAll(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim();
}
