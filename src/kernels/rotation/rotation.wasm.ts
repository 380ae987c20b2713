/**
 * The WebAssembly kernel of rotations, see rotation.assembly.ts. Widths that it cannot do go to the
 * scalar kernel: below 4 for `rotate`, no multiple of 8 for `encode` or of 4 for `tables`.
 */

import { memoryOf } from '../memory';
import { MAX_ENTRY } from '../weighted/weighted.scalar';
import { FAR, FAR_LEVEL, type RotationKernel, scalarRotation } from './rotation.scalar';

/** The first two stages of a transform take four elements at a time. */
const MIN_SIZE = 4;

export const wasmRotation: RotationKernel = {
  name: 'wasm',

  rotate(rotation) {
    const { width, size, vector, flips } = rotation;
    const home = memoryOf(vector);
    if (home === undefined || size < MIN_SIZE) return scalarRotation.rotate(rotation);
    const transforms = flips.length / size;
    home.kernels.rotate(vector.byteOffset, width, size, flips.byteOffset, transforms);
  },

  encode(rotation) {
    const { width, vector, code } = rotation;
    const home = memoryOf(vector);
    if (home === undefined || width % 8 !== 0) return scalarRotation.encode(rotation);
    return home.kernels.twoBitsInto(vector.byteOffset, width, FAR, FAR_LEVEL, code.byteOffset);
  },

  tables(rotation) {
    const { width, vector, tables, scales } = rotation;
    const home = memoryOf(vector);
    if (home === undefined || width % 4 !== 0) return scalarRotation.tables(rotation);
    home.kernels.residualTablesInto(
      ...([vector.byteOffset, width, MAX_ENTRY, tables.byteOffset, scales.byteOffset] as const),
    );
  },
};
