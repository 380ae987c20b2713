import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { isValid } from '../../src/base/arrays';
import type { Ids } from '../../src/base/check';
import { codesFromArrow } from '../../src/table/from-arrow';
import { sparseFromArrow, vectorsFromArrow } from '../reference/arrow';

/** Files that other programs wrote, each with a JSON of what is in it; a new pair is a new test. */
const folder = new URL('../fixtures/arrow/', import.meta.url);
const names = readdirSync(folder).filter((name) => /\.arrows?$/.test(name));

interface Fixture {
  reads: 'codes' | 'vectors' | 'sparse';
  options: object;
  expect: {
    bits: number;
    codes: (string | null)[];
    dimensions: number;
    rows: (number[] | { indices: string[]; values: number[] } | null)[];
    ids: string[] | null;
  };
}

function open(name: string): { bytes: Uint8Array; fixture: Fixture } {
  const json = name.replace(/\.arrows?$/, '.json');
  return {
    bytes: readFileSync(new URL(name, folder)),
    fixture: JSON.parse(readFileSync(new URL(json, folder), 'utf8')),
  };
}

function readers(reads: Fixture['reads']): string[] {
  return names.filter((name) => open(name).fixture.reads === reads);
}

function expectIds(ids: Ids | null, expected: string[] | null): void {
  if (expected !== null) expect(Array.from(ids ?? [], String)).toEqual(expected);
}

describe('Arrow files of other programs', () => {
  it('are there', () => {
    for (const writer of ['pyarrow', 'polars', 'duckdb']) {
      expect(names.filter((name) => name.startsWith(writer)).length).toBeGreaterThan(10);
    }
  });

  it.each(readers('codes'))('hold codes: %s', (name) => {
    const { bytes, fixture } = open(name);
    const { codes, ids } = codesFromArrow(bytes, fixture.options);
    expect(codes.bits).toBe(fixture.expect.bits);
    expect(codes.count).toBe(fixture.expect.codes.length);
    fixture.expect.codes.forEach((expected, row) => {
      const code = codes.isNull(row) ? null : Buffer.from(codes.at(row)).toString('hex');
      expect(code).toBe(expected);
    });
    expectIds(ids, fixture.expect.ids);
  });

  it.each(readers('vectors'))('hold dense vectors: %s', (name) => {
    const { bytes, fixture } = open(name);
    const { vectors, ids } = vectorsFromArrow(bytes, fixture.options);
    const { values, dimensions, validity } = vectors;
    expect(dimensions).toBe(fixture.expect.dimensions);
    expect(values.length).toBe(dimensions * fixture.expect.rows.length);
    fixture.expect.rows.forEach((expected, row) => {
      const vector = [...values.subarray(row * dimensions, (row + 1) * dimensions)];
      expect(isValid(validity, row) ? vector : null).toEqual(expected);
    });
    expectIds(ids, fixture.expect.ids);
  });

  it.each(readers('sparse'))('hold sparse vectors: %s', (name) => {
    const { bytes, fixture } = open(name);
    const { vectors, ids } = sparseFromArrow(bytes, fixture.options);
    const { offsets, indices, values, validity } = vectors;
    expect(offsets.length).toBe(fixture.expect.rows.length + 1);
    fixture.expect.rows.forEach((expected, row) => {
      const entries = {
        indices: Array.from(indices.slice(offsets[row], offsets[row + 1]), String),
        values: Array.from(values.slice(offsets[row], offsets[row + 1])),
      };
      expect(isValid(validity, row) ? entries : null).toEqual(expected);
    });
    expectIds(ids, fixture.expect.ids);
  });
});
