// Dot products in float64 of rows (float64, float32 or int8) with one query (float64, padded by
// zeros to a multiple of 8 and followed by 64 bytes of scratch space). Contract: element i is added
// to partial sum i % 8 in ascending order, and the result is ((p0 + p2) + (p4 + p6)) + ((p1 + p3) +
// (p5 + p7)), so that the scalar kernel gets equal bits. Rows may start at any address, and no byte
// behind a row is read. Fast because four registers of two sums hide the latency of additions, and
// because the cache lines of 16 listed rows are requested before the first of them is needed:
// memory then delivers them concurrently.

/** Types of rows by the bytes of an element; all others are int8. */
const FLOAT64: i32 = 8;
const FLOAT32: i32 = 4;

/** Elements 2 `pair` and 2 `pair` + 1 from `at` on, as float64. */
@inline
export function twoOf<T>(at: usize, pair: usize): v128 {
  if (sizeof<T>() == 8) return v128.load(at + (pair << 4));
  if (sizeof<T>() == 4) return f64x2.promote_low_f32x4(v128.load64_zero(at + (pair << 3)));
  const bytes = v128.load32_zero(at + (pair << 1));
  return f64x2.convert_low_i32x4_s(
    i32x4.extend_low_i16x8_s(i16x8.extend_low_i8x16_s(bytes)),
  );
}

/** Products of two elements of a row with those of the query. */
@inline
function product<T>(at: usize, query: usize, pair: usize): v128 {
  return f64x2.mul(twoOf<T>(at, pair), v128.load(query + (pair << 4)));
}

/** The product of one row; its last elements are padded by zeros in the space behind the query. */
@inline
function dotOf<T>(row: usize, width: usize, query: usize): f64 {
  let a = f64x2.splat(0);
  let b = f64x2.splat(0);
  let c = f64x2.splat(0);
  let d = f64x2.splat(0);
  for (const end = row + (width & ~7) * sizeof<T>(); row < end; row += 8 * sizeof<T>()) {
    a = f64x2.add(a, product<T>(row, query, 0));
    b = f64x2.add(b, product<T>(row, query, 1));
    c = f64x2.add(c, product<T>(row, query, 2));
    d = f64x2.add(d, product<T>(row, query, 3));
    query += 64;
  }
  const rest = width & 7;
  if (rest > 0) {
    const room = query + 64;
    for (let i: usize = 0; i < 8; i++) {
      store<T>(room + i * sizeof<T>(), i < rest ? load<T>(row + i * sizeof<T>()) : 0);
    }
    a = f64x2.add(a, product<T>(room, query, 0));
    b = f64x2.add(b, product<T>(room, query, 1));
    c = f64x2.add(c, product<T>(room, query, 2));
    d = f64x2.add(d, product<T>(room, query, 3));
  }
  const s = f64x2.add(f64x2.add(a, b), f64x2.add(c, d));
  return f64x2.extract_lane(s, 0) + f64x2.extract_lane(s, 1);
}

/** Listed rows whose cache lines are requested together. */
const AHEAD: usize = 16;

/** Reads a byte of each cache line of some rows, which starts to load them; returns the sum. */
function touch(rows: usize, list: usize, count: usize, stride: usize): u32 {
  let sum: u32 = 0;
  for (let i: usize = 0; i < count; i++) {
    const row = rows + <usize>load<u32>(list + (i << 2)) * stride;
    for (let at = row; at < row + stride; at += 64) sum += load<u8>(at);
    sum += load<u8>(row + stride - 1);
  }
  return sum;
}

/** See `dots`, for one type of rows. */
@inline
function dotsOf<T>(
  rows: usize, list: usize, count: usize, width: usize, query: usize, out: usize,
): void {
  const stride = width * sizeof<T>();
  for (let i: usize = 0; i < count; i++) {
    if (list != 0 && i % AHEAD == 0) {
      // Storing the sum keeps the compiler from dropping the reads; the result overwrites it.
      store<u32>(out + (i << 3), touch(rows, list + (i << 2), min(AHEAD, count - i), stride));
    }
    const row = list == 0 ? i : <usize>load<u32>(list + (i << 2));
    store<f64>(out + (i << 3), dotOf<T>(rows + row * stride, width, query));
  }
}

/**
 * Writes the dot products of `count` rows of `type` with the query to `out` as f64: of the rows in
 * `list` (u32), or of rows 0 to `count - 1` if `list` is 0.
 */
export function dots(
  type: i32, rows: usize, list: usize, count: usize, width: usize, query: usize, out: usize,
): void {
  if (type == FLOAT64) dotsOf<f64>(rows, list, count, width, query, out);
  else if (type == FLOAT32) dotsOf<f32>(rows, list, count, width, query, out);
  else dotsOf<i8>(rows, list, count, width, query, out);
}
