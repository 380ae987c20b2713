import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebStream } from '../../src/base/http-requests';
import { startHost, type WebHost } from '../store/web-host';

/** Requests of ranges are tested as a place of an index, in store/http-place.test.ts. */

const content = new Uint8Array(3 * 2 ** 20).fill(7);
let host: WebHost;
beforeEach(async () => {
  host = await startHost(new Map([['rows', content]]));
});
afterEach(() => host.close());

function streamOf(timeoutMs = 300): WebStream {
  const file = { url: new URL(`${host.url}rows`), path: 'rows', timeoutMs };
  return new WebStream(file, new AbortController());
}

describe('a stream', () => {
  it('gives all bytes, and then none', async () => {
    const stream = streamOf(30_000);
    const lengths: number[] = [];
    for (let piece = await stream.next(); piece.length > 0; piece = await stream.next()) {
      lengths.push(piece.length);
    }
    expect(lengths.reduce((sum, one) => sum + one, 0)).toBe(content.length);
    expect(Math.min(...lengths.slice(1, -1))).toBeGreaterThanOrEqual(2 ** 20);
    expect((await stream.next()).length).toBe(0);
    expect([stream.size, stream.hasRanges, host.asked.length]).toEqual([content.length, true, 1]);
  });

  it('has all the time of its reader', async () => {
    const stream = streamOf();
    await stream.next();
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect((await stream.next()).length).toBeGreaterThan(0);
    await stream.close();
  });

  it.each([
    ['nothing comes', 0],
    ['so little comes that it never ends', 1],
  ])('is given up where %s', async (_, bytes) => {
    host.behave = (__, response) => {
      response.writeHead(206, { 'content-range': `bytes 0-${content.length - 1}/3145728` });
      const drip = setInterval(() => response.write(content.subarray(0, bytes)), 20);
      response.on('close', () => clearInterval(drip));
      return true;
    };
    const stream = streamOf();
    const read = async () => {
      while ((await stream.next()).length > 0);
    };
    await expect(read()).rejects.toThrow(/^rows: the host took more than 0.3 s for 1 MiB, or for/);
    expect(host.asked.length).toBe(1);
  });
});
