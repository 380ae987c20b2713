/**
 * The kernels that indexes and joins need, beyond those that hash and scan: a second module, so
 * that a page that only hashes and scans does not load it.
 */

import { type LinearMemory, registered } from './memory';
import { type SearchKernels, searchModule } from './search.generated';

const module = /* @__PURE__ */ registered(searchModule);

/** This thread's kernels over a memory. */
export function searchKernels(memory: LinearMemory): SearchKernels {
  memory.search ??= memory.instanceOf(module) as unknown as SearchKernels;
  return memory.search;
}
