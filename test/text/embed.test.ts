import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { embed, type TextModel } from '../../src/index';
import { Embedder } from '../../src/text/embed';
import { calls, vectorOf } from '../reference/transformers.mjs';

vi.mock('@huggingface/transformers', () => import('../reference/transformers.mjs'));

const TEXTS = ['a cat', '', 'the dog barks at the cat', 'a tac', 'z'.repeat(9000), 'a dog'];

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'halfspace-embed-'));
  calls.length = 0;
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A model in a folder, whose own file says the pooling. */
async function modelIn(config: object | null): Promise<string> {
  await mkdir(join(folder, '1_Pooling'));
  if (config !== null) {
    writeFileSync(join(folder, '1_Pooling/config.json'), JSON.stringify(config));
  }
  return folder;
}

describe('embed', () => {
  it('makes a vector of each text, in their order', async () => {
    const { values, dimensions } = await embed(TEXTS, 'org/order');
    expect(dimensions).toBe(27);
    expect(Array.from(values)).toEqual(TEXTS.flatMap((text) => vectorOf(text, 'mean')));
  });

  it('gives the model few texts at once, and fewer long ones', async () => {
    const texts = [...Array.from({ length: 70 }, (_, i) => `text ${i}`), 'y'.repeat(9000)];
    await embed(texts, 'org/batches');
    const [, , probe, ...counts] = calls;
    expect([probe, ...counts]).toEqual([1, 1, 32, 32, 6]);
  });

  it('loads a model once for many calls, and again after a failure', async () => {
    for (let i = 0; i < 3; i++) await embed(['a'], 'org/once');
    expect(calls.filter((call) => Array.isArray(call))).toHaveLength(1);
    for (let i = 0; i < 2; i++) {
      await expect(embed(['a'], 'org/nowhere')).rejects.toThrow(
        'the model org/nowhere cannot be loaded: no such model',
      );
    }
    expect(calls.filter((call) => Array.isArray(call))).toHaveLength(3);
  });

  it('reports progress and stops by a signal', async () => {
    const stop = new AbortController();
    const done: number[] = [];
    const onProgress = (at: number) => {
      done.push(at);
      if (at === 64) stop.abort(new Error('enough'));
    };
    const texts = Array.from({ length: 200 }, () => 'a text');
    const call = embed(texts, 'org/stop', { onProgress, signal: stop.signal });
    await expect(call).rejects.toThrow('enough');
    expect(done).toEqual([32, 64]);
  });

  it.each([
    [7, 'org/x', '"texts" expected an array of names'],
    [['a', 7], 'org/x', '"texts"[1] expected a string'],
    [['a'], 7, '"model" expected a name, a path or'],
    [['a'], null, '"model" expected a name, a path or'],
    [['a'], {}, '"model" expected a name, a path or'],
    [['a'], { model: 'x', pooling: 'max' }, '"pooling" expected'],
    [['a'], { model: 'x', size: 3 }, 'has no option "size"'],
  ])('refuses %j of %j', async (texts, model, message) => {
    await expect(embed(texts as never, model as never)).rejects.toThrow(message);
  });
});

describe('the model that a vector is made by', () => {
  const found = async (model: string | TextModel) => (await Embedder.of(model)).model;

  it('has the revision and the pooling that were given', async () => {
    const given = { model: 'org/given', revision: 'v2', pooling: 'last_token' } as const;
    expect(await found(given)).toEqual(given);
    const options = { dtype: 'fp32', revision: 'v2' };
    expect(calls).toEqual([['feature-extraction', 'org/given', options], 1]);
  });

  it('has the pooling that its own file says on the Hub, else the mean', async () => {
    expect(await found('org/cls/m')).toEqual({
      model: 'org/cls/m',
      revision: 'main',
      pooling: 'cls',
    });
    expect(calls[0]).toBe('https://hub.example/org/cls/m/resolve/main/1_Pooling/config.json');
    expect(await found('org/m')).toEqual({ model: 'org/m', revision: 'main', pooling: 'mean' });
  });

  it.each(['org/offline/m', 'org/private/m'])('must be given for %s', async (model) => {
    await expect(found(model)).rejects.toThrow('give "pooling": mean, cls, last_token');
    expect(await found({ model, pooling: 'cls' })).toMatchObject({ pooling: 'cls' });
  });

  it.each([
    [{ pooling_mode_cls_token: true, pooling_mode_mean_tokens: false }, 'cls'],
    [{ pooling_mode_lasttoken: true }, 'last_token'],
    [null, 'mean'],
  ])('is read from a folder without the network: %j', async (config, pooling) => {
    const model = await modelIn(config);
    expect(await found(model)).toEqual({ model, pooling });
    const options = { dtype: 'fp32', local_files_only: true };
    expect(calls).toEqual([['feature-extraction', model, options], 1]);
  });

  it.each([
    { pooling_mode_max_tokens: true },
    { pooling_mode_mean_tokens: true, pooling_mode_cls_token: true },
  ])('is refused where we have no such pooling: %j', async (config) => {
    const model = await modelIn(config);
    await expect(found(model)).rejects.toThrow(/another pooling \(pooling_mode_.*give "pooling"/);
  });
});
