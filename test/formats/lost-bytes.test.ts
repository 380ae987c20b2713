import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { createRows, FormatError, openRows, pairs, RowBatch, SimHasher } from '../../src/node';
import { vectorsFromArrow } from '../reference/arrow';

const folder = mkdtempSync(join(tmpdir(), 'halfspace-lost-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const file = join(folder, 'pairs.arrow');

/** The error of reading these bytes as rows; null where they were read. */
async function failure(bytes: Uint8Array): Promise<unknown> {
  writeFileSync(file, bytes);
  try {
    for await (const _ of await openRows(file));
    return null;
  } catch (error) {
    return error;
  }
}

/** A sealed stream of pairs, long enough that bytes follow wherever a part is lost. */
async function sound(): Promise<Buffer> {
  const vectors = Array.from({ length: 300 }, (_, i) => [Math.cos(i / 10), Math.sin(i / 10)]);
  const codes = await new SimHasher({ bits: 64 }).hashAll(vectors);
  const rows = await createRows(file, { format: 'arrows', force: true });
  for await (const { a, b, distances } of pairs(codes, { maxDistance: 10 })) {
    await rows.write(RowBatch.of({ a, b, distance: distances }));
  }
  await rows.close();
  return readFileSync(file);
}

it('pairs that lost bytes near their start are an error, never no pairs', {
  tags: 'thorough',
}, async () => {
  const bytes = await sound();
  for (const lost of [448, 512, 576, 640]) {
    for (let at = 0; at < 160; at++) {
      const cut = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + lost)]);
      expect(await failure(cut), `${lost} bytes lost at ${at}`).toBeInstanceOf(FormatError);
    }
  }
});

it('a stream goes on after its end mark in no file', async () => {
  const bytes = await sound();
  expect(String(await failure(Buffer.concat([bytes, bytes])))).toContain(
    `${bytes.length} bytes after the end of the stream`,
  );
  expect(() => vectorsFromArrow(Buffer.concat([bytes, Buffer.alloc(3)]))).toThrow(
    '3 bytes after the end of the stream',
  );
  expect(await failure(bytes)).toBe(null);
});
