// Passages of the data set prose, of lengths drawn at random.

import { generator } from './random.mjs';
import { textsOf } from './text-files.mjs';

/** At most `count` passages of `least` to `most` words, one after another. */
export function passagesOfProse(least, most, count) {
  const { below } = generator(5);
  const found = [];
  for (const text of textsOf('prose', 'text')) {
    const all = text.split(/\s+/);
    for (let at = 0; at < all.length && found.length < count; ) {
      const length = least + below(most - least);
      if (at + length <= all.length) found.push(all.slice(at, at + length).join(' '));
      at += length;
    }
  }
  return found;
}
