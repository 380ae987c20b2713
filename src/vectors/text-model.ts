/** Which sentence model made vectors of texts: what their files and indexes keep, for queries. */

import { checkOptions, checkText, wrongType } from '../base/check';

export const POOLINGS = ['mean', 'cls', 'last_token'] as const;

/** A sentence model in ONNX, as `@huggingface/transformers` runs it. */
export interface TextModel {
  /** Its name on the Hugging Face Hub, or a folder: a path that begins with `/` or `./`. */
  model: string;
  /**
   * A branch, a tag or a commit of the model on the Hub.
   * @default 'main'
   */
  revision?: string;
  /** Which vectors of tokens become that of a text; by default as the model says, else 'mean'. */
  pooling?: (typeof POOLINGS)[number];
}

/** Checks a model, as it may come from a file; a string is its name. Returns a copy. */
export function checkTextModel(given: string | TextModel): TextModel {
  const model = typeof given === 'string' ? { model: given } : given;
  if (typeof model?.model !== 'string') {
    throw wrongType('model', 'a name, a path or { model, revision, pooling }', given);
  }
  return checkOptions(model, { model: checkText, revision: checkText, pooling: POOLINGS });
}
