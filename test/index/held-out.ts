import { LongWork } from '../../src/base/long-work';
import type { MemoryIndex } from '../../src/index/memory-index';
import type { RowsToPlace } from '../../src/index/space';
import { isHeldOut } from '../../src/index/train';
import { eachRun } from '../../src/index/truth';
import { NO_ROW } from '../../src/kernels/hits';

/** The rows of an index that never train a space, ascending. */
export async function heldOutRows(index: MemoryIndex): Promise<Uint32Array> {
  const held: number[] = [];
  const take = ({ rows }: RowsToPlace, keys: Int32Array) => {
    held.push(...rows.filter((row, i) => row !== NO_ROW && isHeldOut(keys[i])));
  };
  await eachRun((take) => index.eachChunks(take), false, take, new LongWork());
  return Uint32Array.from(held).sort();
}
