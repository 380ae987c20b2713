// Every pair of rows that few edits turn into each other: exact, without comparing all with all. An
// edit destroys at most two of a row's character pairs, so of any 2 * edits + 1 of them one is left
// in the other row (Ukkonen 1992); the rarest of them bring few candidates, and these are measured.

/** Of the characters of the longer row. */
const MOST_EDITS = 1 / 4;

/** `{ a, b, edits }`, a < b, by a, then b. */
export function nearEqualPairs(rows) {
  const { grams, frequencies } = numberedPairs(rows);
  const order = [...rows.keys()].sort((a, b) => rows[a].length - rows[b].length || a - b);
  const rowsWith = frequencies.map(() => []);
  const seenBy = new Int32Array(rows.length).fill(-1);
  const found = [];
  for (const row of order) {
    const most = Math.floor(rows[row].length * MOST_EDITS);
    const rarest = grams[row].slice().sort((x, y) => frequencies[x] - frequencies[y]);
    for (const gram of rarest.subarray(0, 2 * most + 1)) {
      for (const other of rowsWith[gram]) {
        if (seenBy[other] === row) continue;
        seenBy[other] = row;
        const edits = editsBetween(rows[row], rows[other], most);
        if (edits > most) continue;
        found.push({ a: Math.min(row, other), b: Math.max(row, other), edits });
      }
    }
    for (const gram of new Set(grams[row])) rowsWith[gram].push(row);
  }
  return found.sort((x, y) => x.a - y.a || x.b - y.b);
}

/** Each row's character pairs, repeated ones too, as numbers, and how often each number occurs. */
function numberedPairs(rows) {
  const numbers = new Map();
  const frequencies = [];
  const grams = rows.map((row) => {
    const own = new Uint32Array(row.length - 1);
    for (let i = 0; i < own.length; i++) {
      const key = row[i] * 2 ** 21 + row[i + 1];
      let number = numbers.get(key);
      if (number === undefined) {
        number = numbers.size;
        numbers.set(key, number);
        frequencies.push(0);
      }
      frequencies[number]++;
      own[i] = number;
    }
    return own;
  });
  return { grams, frequencies };
}

/** Least number of characters put in, left out or replaced; more than `most` once it exceeds that. */
function editsBetween(a, b, most) {
  const far = most + 1;
  if (Math.abs(a.length - b.length) > most) return far;
  let last = Uint32Array.from({ length: b.length + 1 }, (_, j) => j);
  let next = new Uint32Array(b.length + 1);
  for (let i = 1; i <= a.length; i++) {
    // Places further from the diagonal than `most` take more edits than that.
    const from = Math.max(1, i - most);
    const to = Math.min(b.length, i + most);
    next[from - 1] = from === 1 ? i : far;
    let least = next[from - 1];
    for (let j = from; j <= to; j++) {
      const replaced = last[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      const [left, put] = [last[j] + 1, next[j - 1] + 1];
      next[j] = Math.min(replaced, left, put);
      if (next[j] < least) least = next[j];
    }
    if (to < b.length) next[to + 1] = far;
    if (least > most) return far;
    [last, next] = [next, last];
  }
  return last[b.length];
}
