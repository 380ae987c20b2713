/** For `node --import`: finds `@huggingface/transformers` at the address in HALFSPACE_TEST_PEER. */

import { register } from 'node:module';

const hook = `export const resolve = (name, context, next) => name === '@huggingface/transformers'
  ? { url: ${JSON.stringify(process.env.HALFSPACE_TEST_PEER)}, shortCircuit: true }
  : next(name, context);`;
register(`data:text/javascript,${encodeURIComponent(hook)}`);
