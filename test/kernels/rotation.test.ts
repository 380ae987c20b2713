import { describe, expect, it } from 'vitest';
import { Rotation, scalarRotation } from '../../src/kernels/rotation/rotation.scalar';
import { wasmRotation } from '../../src/kernels/rotation/rotation.wasm';
import { Draws } from '../reference/random';

const WIDTHS = [1, 2, 3, 8, 96, 104, 128, 200, 384];

/** What a rotation makes of each unit vector. */
function columnsOf(width: number, seed: bigint): Float64Array[] {
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
  expect(worst).toBeLessThan(1e-12);
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
      wasmRotation.rotate(other);
      expect([...other.vector]).toEqual([...one.vector]);
    }
  });

  it.each([96, 104, 200, 384])('makes the same residual codes, %i wide', (width) => {
    const draws = new Draws(width);
    const [one, other] = [new Rotation(width, 5n), new Rotation(width, 5n)];
    for (let round = 0; round < 5; round++) {
      one.vector.set(draws.gaussians(width));
      one.vector[round] = round === 0 ? 0 : -0;
      other.vector.set(one.vector);
      const scale = scalarRotation.encode(one);
      expect(wasmRotation.encode(other)).toBe(scale);
      expect([...other.code]).toEqual([...one.code]);
    }
  });
});

describe.each([scalarRotation, wasmRotation])('tables of products, $name kernel', (kernel) => {
  it.each([96, 104, 200])('tell the products of levels with the vector, %i wide', (width) => {
    const rotation = new Rotation(width, 1n);
    rotation.vector.set(new Draws(width).gaussians(width));
    kernel.tables(rotation);
    const { vector, tables, scales } = rotation;
    const [base, unit] = scales;
    const levels = [-0.4528, 0.4528, -1.51, 1.51];
    let least = 0;
    for (let i = 0; i < width; i += 2) {
      const pair = (bits: number) =>
        vector[i] * levels[bits & 3] + vector[i + 1] * levels[bits >> 2];
      const smallest = -1.51 * (Math.abs(vector[i]) + Math.abs(vector[i + 1]));
      least += smallest;
      for (let bits = 0; bits < 16; bits++) {
        const entry = tables[8 * i + bits];
        expect(entry).toBeLessThanOrEqual(31);
        expect(Math.abs(entry - (pair(bits) - smallest) * unit)).toBeLessThan(0.501);
      }
    }
    expect(base / unit).toBeCloseTo(-least, 9);
  });

  it('are those of the scalar kernel, and nothing for a vector of zeros', () => {
    for (const values of [new Draws(3).gaussians(104), new Float64Array(104)]) {
      const [one, other] = [new Rotation(104, 1n), new Rotation(104, 1n)];
      one.vector.set(values);
      other.vector.set(values);
      scalarRotation.tables(one);
      kernel.tables(other);
      expect([...other.tables]).toEqual([...one.tables]);
      expect([...other.scales]).toEqual([...one.scales]);
    }
    const zero = new Rotation(96, 1n);
    kernel.tables(zero);
    expect([...zero.scales]).toEqual([0, 0]);
  });
});

describe.each([scalarRotation, wasmRotation])('a residual code, $name kernel', (kernel) => {
  it('has the side of each coordinate, and whether it is far', () => {
    const rotation = new Rotation(96, 1n);
    rotation.vector.fill(1);
    rotation.vector.set([-1, 3, -3, 0]);
    kernel.encode(rotation);
    // Bits of each coordinate, the first lowest: 0 near below, 1 near above, 2 far below, 3 far above.
    expect(rotation.code[0]).toBe((0 << 0) | (3 << 2) | (2 << 4) | (0 << 6));
    expect(rotation.code[1]).toBe(0b01010101);
  });

  it('differs from the vector at a right angle to it, by the factor that is returned', () => {
    const rotation = new Rotation(96, 1n);
    rotation.vector.set(new Draws(2).gaussians(96));
    const factor = kernel.encode(rotation);
    const levels = [-0.4528, 0.4528, -1.51, 1.51];
    const { vector } = rotation;
    let [product, squares] = [0, 0];
    vector.forEach((value, i) => {
      product += value * factor * levels[(rotation.code[i >> 2] >> (2 * (i & 3))) & 3];
      squares += value * value;
    });
    expect(product).toBeCloseTo(squares, 9);
  });

  it('of nothing has no factor', () => {
    const rotation = new Rotation(96, 1n);
    expect(kernel.encode(rotation)).toBe(0);
  });
});
