import { execFile } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import * as api from '../../src/node';
import { root } from '../docs/examples';
import { CALL_NAMES } from './calls';

const { SimHasher, Codes, SimHashIndex, TextHasher, RowBatch } = api;

/** Runs the command; its exit code and all that it printed. */
function fuzz(...args: string[]): Promise<{ code: number; text: string }> {
  const words = ['scripts/fuzz.mjs', ...args];
  return new Promise((resolve) => {
    execFile(process.execPath, words, { cwd: root, timeout: 280_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), text: stdout + stderr });
    });
  });
}

describe('the calls that are fuzzed', () => {
  const called = new Set(CALL_NAMES.map((name) => name.replace(/^new /, '').replace(/[ ,].*/, '')));

  it('are of every function that is exported, but for those that need files, and an error', () => {
    const files = ['openRows', 'createRows']
      .concat(['readPlan', 'writePlan', 'applyPlan', 'saveIndex', 'openIndex'])
      .concat(['IndexFolder', 'openIndexUrl', 'FormatError'])
      .concat(['embed']); // by a model
    const names = Object.keys(api).filter((name) => !files.includes(name));
    const missing = names.filter((name) => ![...called].some((one) => one.split('.')[0] === name));
    expect(missing).toEqual([]);
  });

  it('are of every method of the classes', () => {
    const internal = ['ofColumns', 'chunk', 'addDocument', 'countOf', 'checkOrigin'].concat([
      'entries',
      'of',
      'hashBatch',
      'hashWithKeys',
      'column',
      'codesOf',
      'codeOf',
      'codesOfPart',
      'vectorsOf',
      'only',
    ]);
    const missing: string[] = [];
    const classes = { SimHasher, Codes, SimHashIndex, TextHasher, RowBatch };
    for (const [name, { prototype }] of Object.entries(classes)) {
      for (const method of Object.getOwnPropertyNames(prototype)) {
        const { value } = Object.getOwnPropertyDescriptor(prototype, method) ?? {};
        if (typeof value !== 'function' || method === 'constructor') continue;
        if (!called.has(`${name}.${method}`) && !internal.includes(method))
          missing.push(`${name}.${method}`);
      }
    }
    expect(missing).toEqual([]);
  });
});

describe('the command', { tags: 'full', timeout: 300_000 }, () => {
  it.each([
    ['hang', /no end after 5 seconds/],
    ['crash', /died with SIGABRT/],
    ['heap', /died with .*heap/s],
    ['memory', /536870912 bytes were asked for/],
    ['answer', /one in place of two/],
    ['error', /reading: raw error TypeError/],
  ])('finds a target that is broken by %s, and says how to run it again', async (fault, words) => {
    const { code, text } = await fuzz(`broken-${fault}`, '--inputs', '5', '--seed', '7');
    expect(text).toMatch(words);
    expect(text).toContain(`npm run fuzz -- broken-${fault} --seed 7 --first 3 --inputs 1`);
    expect(text).toContain('0 passed, 1 failed');
    expect(code).toBe(1);
  });

  it('refuses a target that is not there', async () => {
    expect(await fuzz('nothing')).toEqual({
      code: 2,
      text: 'no target nothing; --list shows them\n',
    });
  });
});
