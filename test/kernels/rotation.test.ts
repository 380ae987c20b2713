import { describe, expect, it } from 'vitest';
import { pointsOf } from '../../src/kernels/products';
import { Rotation } from '../../src/kernels/rotation';
import { Draws } from '../reference/random';
import { pointsFrom } from './scalar/products';
import { encode, scalarRotation } from './scalar/rotation';

const WIDTHS = [16, 96, 104, 128, 200, 384];

/** What a rotation makes of each unit vector. */
function columnsOf(width: number, seed: bigint): Float32Array[] {
  const rotation = new Rotation(width, seed);
  return Array.from({ length: width }, (_, i) => {
    const { vector } = rotation;
    vector.fill(0);
    vector[i] = 1;
    scalarRotation.rotate(rotation);
    return vector.slice();
  });
}

it.each(WIDTHS)('keeps lengths and angles, %i wide', (width) => {
  const columns = columnsOf(width, 7n);
  let worst = 0;
  for (let i = 0; i < width; i++) {
    for (let j = 0; j <= i; j++) {
      const product = columns[i].reduce((sum, value, at) => sum + value * columns[j][at], 0);
      worst = Math.max(worst, Math.abs(product - Number(i === j)));
    }
  }
  expect(worst).toBeLessThan(2e-6);
});

it.each([96, 104, 128, 384])('spreads a single coordinate over all, %i wide', (width) => {
  for (const column of columnsOf(width, 1n)) {
    const largest = Math.max(...column.map(Math.abs));
    expect(largest * Math.sqrt(width)).toBeLessThan(6);
    const fourth = column.reduce((sum, value) => sum + value ** 4, 0) * width;
    expect(fourth).toBeLessThan(8); // 3 of a Gaussian, `width` of a single coordinate
  }
});

it('another seed is another rotation', () => {
  const [a, b] = [columnsOf(104, 1n), columnsOf(104, 2n)];
  expect(columnsOf(104, 1n)).toEqual(a);
  expect(b[0]).not.toEqual(a[0]);
});

describe('the WebAssembly kernel', () => {
  it.each(WIDTHS)('rotates to the same bits, %i wide', (width) => {
    const draws = new Draws(width);
    const [one, other] = [new Rotation(width, 5n), new Rotation(width, 5n)];
    for (let round = 0; round < 5; round++) {
      one.vector.set(draws.gaussians(width));
      other.vector.set(one.vector);
      scalarRotation.rotate(one);
      other.rotate();
      expect([...other.vector]).toEqual([...one.vector]);
    }
  });
});

describe.each([Float32Array, Int8Array])('rows as %o', (Values) => {
  it.each([
    [93, 96, 1],
    [200, 200, 2],
    [1000, 1000, 2],
  ])('%i wide are encoded as one by one', (dimensions, width, each) => {
    const draws = new Draws(width);
    const rotations = [new Rotation(width, 5n, 4), new Rotation(width, 5n, 4)];
    const centroids = draws.gaussians(4 * width).map((value) => value / 40);
    for (const rotation of rotations) rotation.centroids.set(centroids);
    const count = 300;
    const values = Values.from(draws.gaussians(count * dimensions).map((value) => 40 * value));
    const lengths = Float64Array.from({ length: count }, (_, row) =>
      row % 7 === 3 ? 0 : Math.hypot(...values.subarray(row * dimensions, (row + 1) * dimensions)),
    );
    const partitions = Uint32Array.from({ length: each * count }, () => draws.integer(4));
    const rows = { values, lengths, dimensions };
    const expected = scalarRotation.encodeRows(rotations[0], rows, partitions);
    const found = rotations[1].encodeRows(rows, partitions);
    expect(found.scales).toEqual(expected.scales);
    expect(found.codes).toEqual(expected.codes);
    const vectors = Array.from(lengths, (length, row) =>
      length === 0
        ? new Float32Array(dimensions)
        : values.subarray(row * dimensions, (row + 1) * dimensions),
    );
    expect(pointsOf(rows)).toEqual(pointsFrom(vectors).values);
    const doubles = { ...rows, values: Float64Array.from(values, (value) => value / 3) };
    const thirds = vectors.map((vector) => Float64Array.from(vector, (value) => value / 3));
    expect(pointsOf(doubles)).toEqual(pointsFrom(thirds).values);
  });
});

describe.each([
  ['scalar', scalarRotation.makeTables],
  ['WebAssembly', (rotation: Rotation) => rotation.makeTables()],
] as const)('tables of products, %s kernel', (_, makeTables) => {
  it.each([96, 104, 200])('tell the products of signs with the vector, %i wide', (width) => {
    const rotation = new Rotation(width, 1n);
    rotation.vector.set(new Draws(width).gaussians(width));
    makeTables(rotation);
    const { vector, tables, scales } = rotation;
    const [base, unit] = scales;
    let least = 0;
    for (let i = 0; i < width; i += 4) {
      const four = vector.subarray(i, i + 4);
      const productOf = (bits: number) =>
        four.reduce((sum, value, j) => sum + ((bits >> j) & 1 ? value : -value), 0);
      const smallest = four.reduce((sum, value) => sum - Math.abs(value), 0);
      least += smallest;
      for (let bits = 0; bits < 16; bits++) {
        const entry = tables[4 * i + bits];
        expect(entry).toBeLessThanOrEqual(31);
        expect(Math.abs(entry - (productOf(bits) - smallest) * unit)).toBeLessThan(0.501);
      }
    }
    expect(base / unit).toBeCloseTo(-least, 9);
  });

  it('are those of the scalar kernel, and nothing for a vector of zeros', () => {
    for (const values of [new Draws(3).gaussians(104), new Float64Array(104)]) {
      const [one, other] = [new Rotation(104, 1n), new Rotation(104, 1n)];
      one.vector.set(values);
      other.vector.set(values);
      scalarRotation.makeTables(one);
      makeTables(other);
      expect([...other.tables]).toEqual([...one.tables]);
      expect([...other.scales]).toEqual([...one.scales]);
    }
    const zero = new Rotation(96, 1n);
    makeTables(zero);
    expect([...zero.scales]).toEqual([0, 0]);
  });
});

describe('a residual code', () => {
  it('has the side of each coordinate, and behind these the half of each side', () => {
    const vector = new Float32Array(96).fill(1);
    vector.set([-1, 3, -3, 0]);
    const code = new Uint8Array(24);
    encode(vector, code);
    // Coordinates of 1 are near above: 1, then 0. Near below is 0 and 1, far above 1 and 1, far
    // below 0 and 0, the first coordinate lowest.
    expect(code[0]).toBe(0b1111_0010);
    expect(code[12]).toBe(0b0000_1011);
    expect([code[1], code[13]]).toEqual([0xff, 0]);
  });

  it('differs from the vector at a right angle to it, by the factor that is returned', () => {
    const vector = Float32Array.from(new Draws(2).gaussians(96));
    const code = new Uint8Array(24);
    const factor = encode(vector, code);
    const signOf = (byte: number, i: number) => ((code[byte + (i >> 3)] >> (i & 7)) & 1 ? 1 : -1);
    let [product, squares] = [0, 0];
    vector.forEach((value, i) => {
      product += value * factor * (2 * signOf(0, i) + signOf(12, i));
      squares += value * value;
    });
    expect(product / squares).toBeCloseTo(1, 6);
  });

  it('of nothing has no factor', () => {
    expect(encode(new Float32Array(96), new Uint8Array(24))).toBe(0);
  });
});
