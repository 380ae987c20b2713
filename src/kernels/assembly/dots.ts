// Dot products in float64 of float64 rows with one query. Element i goes to partial sum
// i % 4, each in ascending order; the result is (p0 + p2) + (p1 + p3). A scalar loop does the same.

@inline
function total(low: v128, high: v128): f64 {
  const s = f64x2.add(low, high);
  return f64x2.extract_lane(s, 0) + f64x2.extract_lane(s, 1);
}

/** Row . query for `count` rows; `query` is padded by zeros to a multiple of 4. */
export function dotsInto(rows: usize, count: i32, width: i32, query: usize, out: usize): void {
  const whole = <usize>(width & ~3) << 3;
  const left = width & 3;
  for (let row = 0; row < count; row++, out += 8) {
    let low = f64x2.splat(0);
    let high = f64x2.splat(0);
    let at: usize = 0;
    for (; at < whole; at += 32, rows += 32) {
      low = f64x2.add(low, f64x2.mul(v128.load(rows), v128.load(query + at)));
      high = f64x2.add(high, f64x2.mul(v128.load(rows, 16), v128.load(query + at, 16)));
    }
    if (left > 0) {
      const x1 = left > 1 ? load<f64>(rows, 8) : 0;
      const x2 = left > 2 ? load<f64>(rows, 16) : 0;
      low = f64x2.add(low, f64x2.mul(f64x2(load<f64>(rows), x1), v128.load(query + at)));
      high = f64x2.add(high, f64x2.mul(f64x2(x2, 0), v128.load(query + at, 16)));
      rows += <usize>left << 3;
    }
    store<f64>(out, total(low, high));
  }
}
