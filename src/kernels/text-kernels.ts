/**
 * The kernels that read texts and make checksums: a module of its own, so that a page that only
 * hashes vectors and scans codes does not load it.
 */

import { type LinearMemory, registered } from './memory';
import { type TextKernels, textModule } from './text.generated';

const module = /* @__PURE__ */ registered(textModule);

/** This thread's kernels over a memory. */
export function textKernels(memory: LinearMemory): TextKernels {
  memory.text ??= memory.instanceOf(module) as unknown as TextKernels;
  return memory.text;
}
