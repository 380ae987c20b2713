/**
 * Stands for the package `@huggingface/transformers`, which is large and needs a model: texts become
 * counts of their letters. The pooling adds a dimension, so that vectors of two poolings differ.
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What was asked of it, for tests in the same process. */
export const calls = [];

const POOLINGS = ['mean', 'cls', 'last_token'];

export const env = {
  remoteHost: 'https://hub.example/',
  remotePathTemplate: '{model}/resolve/{revision}/',
  async fetch(url) {
    calls.push(url);
    if (url.includes('/offline/')) throw new Error('no network');
    if (url.includes('/private/')) return { ok: false, status: 401 };
    if (!url.includes('/cls/')) return { ok: false, status: 404 };
    return { ok: true, json: async () => ({ pooling_mode_cls_token: true }) };
  },
};

export const AutoConfig = {
  async from_pretrained(folder, options) {
    if (!options.local_files_only) throw new Error('asked the network for a folder');
    return JSON.parse(await readFile(join(folder, 'config.json'), 'utf8'));
  },
};

export async function pipeline(task, model, options) {
  calls.push([task, model, options]);
  if (model.includes('nowhere')) throw new Error('no such model');
  return async (texts, { pooling, normalize }) => {
    calls.push(texts.length);
    if (!normalize) throw new Error('expected vectors of length 1');
    if (process.env.HALFSPACE_TEST_SLOW) await new Promise((resolve) => setTimeout(resolve, 50));
    return { data: Float32Array.from(texts.flatMap((text) => vectorOf(text, pooling))) };
  };
}

/** 27 numbers: how often each letter occurs, and one for the pooling. */
export function vectorOf(text, pooling) {
  const counts = Array.from({ length: 27 }, () => 0);
  for (const letter of text.toLowerCase()) {
    const at = letter.charCodeAt(0) - 97;
    if (at >= 0 && at < 26) counts[at]++;
  }
  counts[26] = 0.01 * (1 + POOLINGS.indexOf(pooling));
  const length = Math.hypot(...counts);
  return counts.map((count) => Math.fround(count / length));
}
