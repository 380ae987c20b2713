import { LongWork } from '../../src/base/long-work';
import type { MemoryIndex } from '../../src/index/memory-index';

/** The rows of an index that never train a space, ascending. */
export async function heldOutRows(index: MemoryIndex): Promise<Uint32Array> {
  const held: number[] = [];
  const take = (row: number, isHeldOut: boolean) => {
    if (isHeldOut) held.push(row);
  };
  await index.eachRow(take, false, new LongWork());
  return Uint32Array.from(held).sort();
}
