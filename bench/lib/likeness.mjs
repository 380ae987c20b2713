// How alike texts are, in plain loops and without codes: the cosine of their TF-IDF vectors, and the
// share of tokens that two have in common of those that either has (Jaccard).

/** By text the numbers of its different tokens and their weights, scaled to length 1. */
export function tfidfRows(texts, tokens) {
  const numbers = new Map();
  const counted = texts.map((text) => {
    const counts = new Map();
    for (const token of tokens(text)) {
      const number = numbers.get(token) ?? numbers.size;
      numbers.set(token, number);
      counts.set(number, (counts.get(number) ?? 0) + 1);
    }
    return counts;
  });
  const having = new Uint32Array(numbers.size);
  for (const counts of counted) for (const number of counts.keys()) having[number]++;
  return counted.map((counts) => {
    const own = Uint32Array.from(counts.keys());
    const weights = Float64Array.from(
      own,
      (number) => counts.get(number) * (Math.log((1 + texts.length) / (1 + having[number])) + 1),
    );
    const length = Math.hypot(...weights);
    return { numbers: own, weights: weights.map((weight) => weight / length) };
  });
}

/** Every pair of rows, a < b, that `isWanted(cosine, jaccard)`, with both. */
export function pairsAlike(rows, isWanted) {
  const rowsWith = [];
  const found = [];
  const cosines = new Float64Array(rows.length);
  const shared = new Uint32Array(rows.length);
  for (const [b, { numbers, weights }] of rows.entries()) {
    cosines.fill(0, 0, b);
    shared.fill(0, 0, b);
    for (let i = 0; i < numbers.length; i++) {
      rowsWith[numbers[i]] ??= { others: [], theirs: [] };
      const { others, theirs } = rowsWith[numbers[i]];
      for (let j = 0; j < others.length; j++) {
        cosines[others[j]] += theirs[j] * weights[i];
        shared[others[j]]++;
      }
      others.push(b);
      theirs.push(weights[i]);
    }
    for (let a = 0; a < b; a++) {
      const jaccard = shared[a] / (numbers.length + rows[a].numbers.length - shared[a]);
      if (isWanted(cosines[a], jaccard)) found.push({ a, b, cosine: cosines[a], jaccard });
    }
  }
  return found;
}
