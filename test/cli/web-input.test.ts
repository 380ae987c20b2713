import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startHost, type WebHost } from '../store/web-host';
import { ownFolder, root, rowsOf, run } from './run';

const docs = readFileSync(join(root, 'datasets/sample/docs.jsonl'));
const served = new Map<string, Uint8Array>();
let etag: string;
let host: WebHost;
let url: string;

beforeEach(async () => {
  etag = '"1"';
  served.clear();
  served.set('docs.jsonl', docs);
  host = await startHost(served);
  host.behave = (_, response) => {
    response.setHeader('etag', etag);
    return false;
  };
  url = `${host.url}docs.jsonl`;
});
afterEach(() => host.close());

it.each([
  ['fingerprint', '--text', 'body', '--tf-idf'],
  ['pairs', '--text', 'body'],
  ['dedup', '--text', 'body', '--to', 'csv'],
  ['cluster', '--text', 'body', '--clusters', '4'],
  ['frequencies', '--text', 'body', '-o', 'table.arrow'],
  ['index', '--text', 'body', '-o', 'docs.hs'],
  ['explore', '--text', 'body', '-o', 'page.html'],
  ['calibrate', '--text', 'body', '--json'],
  ['info'],
  ['verify'],
])('%s reads an address as it reads a file', async (verb, ...options) => {
  const file = join(root, 'datasets/sample/docs.jsonl');
  const outcomes = [];
  for (const input of [file, url]) {
    const { code, stdout, stderr } = await run([verb, input, ...options], {
      cwd: await ownFolder(),
    });
    const named = (text: string) => text.replaceAll(input, 'INPUT');
    // Plans have marks of the files, which are others.
    const lines = named(stdout).replaceAll(/\b[0-9a-f]{16}\b|(rows|size) .*/g, 'MARK');
    outcomes.push({ code, stdout: lines, stderr: named(stderr).replaceAll(/\/\S*docs/g, 'docs') });
  }
  expect(outcomes[1]).toEqual(outcomes[0]);
  expect(outcomes[1].code).toBe(0);
});

it('queries come from an address', async () => {
  const cwd = await ownFolder();
  await run(['index', url, '--text', 'body', '-o', 'docs.hs'], { cwd });
  const { stdout } = await run(['search', 'docs.hs', url, '-k', '1'], { cwd });
  expect(rowsOf(stdout).length).toBe(40);
  const { code, stderr } = await run(['search', url, '--query', 'tea'], { cwd });
  expect([code, stderr]).toEqual([
    2,
    'halfspace: search reads an index from a folder or a file, not from stdin or a host\n',
  ]);
});

describe('a plan', () => {
  it('is applied to the address, unless the file has changed', async () => {
    const cwd = await ownFolder();
    const made = await run(['dedup', `${url}?token=1`, '--text', 'body', '-o', 'p.jsonl'], { cwd });
    expect(made.code).toBe(0);
    const apply = ['dedup', url, '--apply', 'p.jsonl', '-o'];
    expect(await run([...apply, 'kept.jsonl'], { cwd })).toMatchObject({ code: 0 });
    expect(rowsOf(readFileSync(join(cwd, 'kept.jsonl'), 'utf8')).length).toBe(30);
    etag = '"2"';
    const { code, stderr } = await run([...apply, 'other.jsonl'], { cwd });
    expect([code, stderr]).toEqual([
      3,
      `halfspace: ${url}: changed since p.jsonl was made: make the plan again\n`,
    ]);
    expect(readdirSync(cwd).sort()).toEqual(['kept.jsonl', 'p.jsonl']);
  });

  it('of several addresses becomes one file, with the records as they were', async () => {
    const cwd = await ownFolder();
    const lines = docs.toString().trimEnd().split('\n');
    served.set('a/one.jsonl', Buffer.from(lines.slice(0, 20).join('\n')));
    served.set('a/b/two.jsonl', Buffer.from(lines.slice(20).join('\n')));
    const inputs = ['a/one.jsonl?x=1', 'a/b/two.jsonl'].map((name) => host.url + name);
    await run(['dedup', ...inputs, '--text', 'body', '-o', 'p.jsonl'], { cwd });
    const { code } = await run(['dedup', ...inputs, '--apply', 'p.jsonl', '-o', 'k.jsonl'], {
      cwd,
    });
    expect(code).toBe(0);
    const kept = readFileSync(join(cwd, 'k.jsonl'), 'utf8').trimEnd().split('\n');
    expect(kept.length).toBeLessThan(lines.length);
    expect(lines).toEqual(expect.arrayContaining(kept));
  });
});

it('a file that changes between two readings of a verb ends it, and nothing is written', async () => {
  const cwd = await ownFolder();
  host.behave = ({ count }, response) => {
    response.setHeader('etag', count === 1 ? '"1"' : '"2"');
    return false;
  };
  const words = ['fingerprint', url, '--text', 'body', '--tf-idf', '-o', 'codes.arrow'];
  const { code, stderr } = await run(words, { cwd });
  expect(code).toBe(1); // another try may read it
  expect(stderr).toContain(`halfspace: ${url}: changed while it was read: start again\n`);
  expect(readdirSync(cwd)).toEqual([]);
});

it('a host that fails ends a verb with a sentence, and an output that exists stays', async () => {
  const cwd = await ownFolder();
  writeFileSync(join(cwd, 'codes.arrow'), 'old');
  const words = ['fingerprint', `${url}.none`, '--force', '-o', 'codes.arrow'];
  const { code, stderr } = await run(words, { cwd });
  expect([code, stderr]).toEqual([
    3,
    `halfspace: ${url}.none: the host does not have it, it answered 404\n`,
  ]);
  expect(readFileSync(join(cwd, 'codes.arrow'), 'utf8')).toBe('old');
});
