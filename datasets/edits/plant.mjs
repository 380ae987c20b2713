// Copies of a passage with a share of its words replaced: near-duplicates of which it is known how
// near they are. Plain, so that tests and benches can plant more of them in texts of their own.

/** Shares of the words that are replaced, one copy each. */
export const SHARES = [0.01, 0.02, 0.05, 0.1, 0.2];

/** The passages of `length` words one after another, without what is left over at the end. */
export function passagesOf(text, length) {
  const words = text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word));
  const count = Math.floor(words.length / length);
  return Array.from({ length: count }, (_, i) => words.slice(i * length, (i + 1) * length));
}

/**
 * A copy of `words` in which a share of them, one at least, is replaced by other words, drawn from
 * `vocabulary` as often as they occur there; `below(limit)` is the source of chance.
 */
export function planted(words, { share, vocabulary, below }) {
  const copy = words.slice();
  const places = new Set();
  const count = Math.max(1, Math.round(share * words.length));
  while (places.size < count) places.add(below(words.length));
  for (const place of places) {
    while (copy[place] === words[place]) copy[place] = vocabulary[below(vocabulary.length)];
  }
  return copy;
}
