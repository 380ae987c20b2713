/** The WebAssembly twin of dots.scalar.ts; rows pass through the scratch memory in blocks. */

import type { DotsKernel } from './dots.scalar';
import { FREE_START, scratch } from './memory';

const BLOCK_BYTES = 1 << 18;

export const wasmDots: DotsKernel = {
  name: 'wasm',

  dotsInto(values, first, count, query, out) {
    const width = query.length;
    const block = Math.max(1, Math.min(count, Math.floor(BLOCK_BYTES / (8 * width))));
    const queryAt = FREE_START;
    const outAt = queryAt + (width + 3) * 8;
    const rowsAt = outAt + block * 8;
    const narrowAt = rowsAt + (block * width + 3) * 8;
    const { kernels, bytes } = scratch(narrowAt + block * width * 4 - FREE_START);
    const staged = new Float64Array(bytes.buffer, queryAt, width + 3);
    staged.set(query);
    staged.fill(0, width);
    const isNarrow = values instanceof Float32Array;
    const rows = isNarrow
      ? new Float32Array(bytes.buffer, narrowAt, block * width)
      : new Float64Array(bytes.buffer, rowsAt, block * width);
    for (let row = 0; row < count; row += block) {
      const here = Math.min(block, count - row);
      rows.set(values.subarray((first + row) * width, (first + row + here) * width));
      if (isNarrow) kernels.widenInto(narrowAt, here * width, rowsAt);
      kernels.dotsInto(rowsAt, here, width, queryAt, outAt);
      out.set(new Float64Array(bytes.buffer, outAt, here), row);
    }
  },
};
