import { describe, expect, it } from 'vitest';
import { alea } from '../../src/base/random';
import { gatherCodes } from '../../src/near/rows';

describe('gatherCodes', () => {
  it('copies codes of every width, from and to any byte, as a loop over bytes does', () => {
    const random = alea('gather');
    for (let width = 1; width <= 20; width++) {
      for (let offset = 0; offset < 5; offset++) {
        const count = 1 + Math.floor(40 * random());
        const all = Uint8Array.from({ length: offset + count * width }, () => 256 * random());
        const from = all.subarray(offset);
        const places = Uint32Array.from({ length: 150 }, () => count * random());
        const to = new Uint8Array(4 - offset + 150 * width).subarray(4 - offset);
        gatherCodes(from, to, width, places);
        const expected = [...places].flatMap((place) => [
          ...from.slice(place * width, (place + 1) * width),
        ]);
        expect([...to]).toEqual(expected);
      }
    }
  });
});
