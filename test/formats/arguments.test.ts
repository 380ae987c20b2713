import { expect, it } from 'vitest';
import * as api from '../../src/node';

/** Plain mistakes in calls that read and write files: a raw error of the engine until 0.2. */
const call = (name: string, ...args: unknown[]) => ({ name, args });
const codes = await new api.SimHasher({ bits: 16 }).hashAll([[1], [1]]);
const made = await api.dedup(codes, { maxDistance: 1 });
const plan = () => made;

it.each([
  [
    call('openRows', 'a.csv', { columns: [undefined] }),
    '"columns"[0] expected a string, got undefined',
  ],
  [call('openRows', 'a.csv', { file: Symbol('x') }), '"file" expected a string, got Symbol(x)'],
  [call('openRows', ['a.csv', 3]), '"source"[1] expected a string, got 3'],
  [call('openRows', undefined), '"source" expected a path, paths, or an async iterable of bytes'],
  [call('createRows', 'a.csv', { inputs: [7] }), '"inputs"[0] expected a string, got 7'],
  [call('writePlan', 3, plan()), '"path" expected a path, got 3'],
  [call('readPlan', null), '"path" expected a path, got null'],
  [call('applyPlan', plan(), undefined, 'out'), '"source" expected a path or an array of paths'],
  [call('applyPlan', plan(), 'a.csv', { out: 1 }), '"output" expected a path, got Object'],
  [
    call('applyPlan', plan(), 'a.csv', 'b.csv', { inputs: 'a' }),
    '"inputs" expected an array of names',
  ],
  [call('codesFromArrow', new Uint8Array(9), { file: Symbol('x') }), '"file" expected a string'],
])('$name', async ({ name, args }, message) => {
  const does = (api as unknown as Record<string, (...all: unknown[]) => unknown>)[name];
  const error = await (async () => does(...args))().catch((cause) => cause);
  expect(error).toBeInstanceOf(TypeError);
  expect((error as Error).message).toContain(message);
});
