import { Decimal, Field, makeData, Schema } from 'apache-arrow';
import { expect, it } from 'vitest';
import { comparable } from '../../../src/cli/input/saved-index';
import { recordBatch } from '../../../src/table/columns/make';
import { RowBatch } from '../../../src/table/row-batch';

it('decimals are compared as numbers, large ones without a fraction', () => {
  const cents = [-250n, 0n, 900n, 1000n, 12345678901234567890n];
  const words = cents.flatMap((value) => [0n, 32n, 64n, 96n].map((bit) => value >> bit));
  const data = makeData({
    type: new Decimal(2, 38, 128),
    length: cents.length,
    nullCount: 0,
    data: Uint32Array.from(words, (word) => Number(BigInt.asUintN(32, word))),
  });
  const schema = new Schema([new Field('price', data.type, true)]);
  const batch = RowBatch.fromArrow(recordBatch(schema, [data], cents.length));
  expect(batch.values('price').slice(0, 3)).toEqual(['-2.50', '0.00', '9.00']);
  expect(comparable(batch, 'price')).toEqual([-2.5, 0, 9, 10, 123456789012345678n]);
});
