import { ResidualMemory } from '../../src/kernels/residual-memory';
import { Draws } from '../reference/random';

/** Rows of random residual codes, and a query's tables; every seventh row is none. */
export function residualCodes(bytesPerRow: number, count: number) {
  const draws = new Draws(bytesPerRow);
  const memory = new ResidualMemory(bytesPerRow, 10);
  const length = Math.sqrt(4 * bytesPerRow); // as of rotated differences of length 1
  const rows = Array.from({ length: count }, (_, row) => {
    const residualCode = Uint8Array.from({ length: bytesPerRow }, () => draws.integer(256));
    const scale = row % 7 === 3 ? 0 : Math.fround((0.8 + draws.uniform() / 2) / length);
    memory.reserve(row + 1); // grows several times, codes in it
    memory.setRows(row, residualCode, Float32Array.of(scale));
    return { residualCode, scale };
  });
  const tables = Uint8Array.from({ length: 16 * bytesPerRow }, () => draws.integer(32));
  const query = { tables, zero: 15.5 * bytesPerRow + 0.3, factor: (60 * length) / bytesPerRow };
  return { memory, rows, query };
}
