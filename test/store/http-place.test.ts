import { getEventListeners, once } from 'node:events';
import { createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FormatError } from '../../src/index';
import { coreOf, SimHashIndex } from '../../src/index/simhash-index';
import { HttpPlace } from '../../src/store/http-place';
import { headerOf, newManifest, parseManifest } from '../../src/store/manifest';
import { explained } from '../../src/store/place';
import { rangesIn } from './files';
import { startHost, type WebHost } from './web-host';

const BYTES = 400_000;
const content = Uint8Array.from({ length: BYTES }, (_, i) => (i * 7 + (i >> 8)) & 255);
const file = { name: 'rows.arrow', bytes: BYTES };

/** The manifest of an empty index. */
function manifestOf(generation: number): Uint8Array {
  const index = headerOf(coreOf(new SimHashIndex()));
  const none = { text: null, columns: [], segments: [], files: {} };
  return newManifest({ generation, previous: null, rows: 0, index, ...none }).bytes;
}

let host: WebHost;
let files: HttpPlace;
const served = new Map<string, Uint8Array>();

beforeEach(async () => {
  served.clear();
  served.set(file.name, content).set('manifest.json', manifestOf(7));
  host = await startHost(served);
  files = new HttpPlace(host.url);
});

afterEach(async () => {
  await files.close();
  await host.close();
});

/** Compares long arrays faster than `toEqual` does. */
function expectBytes(read: Uint8Array[], ranges: { at: number; length: number }[]): void {
  expect(read.map(({ length }) => length)).toEqual(ranges.map(({ length }) => length));
  const same = read.map((one, i) =>
    Buffer.compare(one, content.subarray(ranges[i].at).subarray(0, ranges[i].length)),
  );
  expect(same).toEqual(ranges.map(() => 0));
}

/** The error of a read, which names the file by its address. */
async function errorOf(ranges = [{ at: 1000, length: 500 }], wanted = file): Promise<Error> {
  const error = await rangesIn(files, wanted, ranges).catch((one) => one);
  expect(error).toBeInstanceOf(Error);
  expect(error.message).toContain(`${host.url}${wanted.name}: `);
  return error;
}

describe('a plain host', () => {
  it('gives ranges in the order that they are asked for, also empty and overlapping ones', async () => {
    const wanted = [
      [399_990, 10],
      [0, 1],
      [200_000, 0],
      [3, 70_000],
      [400_000, 0],
      [400, 9],
      [0, BYTES],
    ].map(([at, length]) => ({ at, length }));
    const read = await rangesIn(files, file, wanted);
    expectBytes(read, wanted);
  });

  it('is asked once for ranges that are near each other, and at most for 32 at a time', async () => {
    const near = Array.from({ length: 20 }, (_, i) => ({ at: 5000 + 1000 * i, length: 600 }));
    await rangesIn(files, file, near);
    expect(host.asked).toEqual([{ name: file.name, range: 'bytes=5000-24599' }]);
    // Answers wait until 32 are asked for, or the last one is.
    const waiting: (() => void)[] = [];
    host.behave = () =>
      new Promise((resolve) => {
        waiting.push(() => resolve(false));
        if (waiting.length === 32 || host.asked.length === 41) {
          for (const go of waiting.splice(0)) go();
        }
      });
    const far = Array.from({ length: 20 }, (_, i) => ({ at: 19_000 * i, length: 600 }));
    const others = new HttpPlace(host.url);
    const read = await Promise.all([rangesIn(files, file, far), rangesIn(others, file, far)]);
    expect(host.asked.length).toBe(41);
    expect(host.parallel).toBe(32);
    for (const one of read) expectBytes(one, far);
  });

  it('has the manifest of its newest generation', async () => {
    expect(await files.manifest()).toEqual(parseManifest(manifestOf(7), 'manifest.json', 7));
    served.set('manifest.json', new TextEncoder().encode('<!doctype html><title>Home</title>'));
    await expect(files.manifest()).rejects.toThrow(/manifest.json: cannot be read as a/);
  });

  it('keeps what an address asks for besides its path, and does not repeat it in errors', async () => {
    const asked: (string | undefined)[] = [];
    host.behave = (_, __, { url }) => asked.push(url) === 0;
    files = new HttpPlace(`${host.url}a%20b/docs.hs?token=secret#top`);
    expect(files.name).toBe(`${host.url}a%20b/docs.hs`);
    expect(await files.manifest()).toBe(null);
    const error = await rangesIn(files, file, [{ at: 0, length: 1 }]).catch((one) => one);
    expect(error.message).toContain(`${host.url}a%20b/docs.hs/rows.arrow: it is missing`);
    expect(error.message).not.toContain('secret');
    expect(asked[0]).toBe('/a%20b/docs.hs/manifest.json?token=secret');
    expect(asked[1]).toBe('/a%20b/docs.hs/rows.arrow?token=secret');
  });

  it('is named by an address of the web', () => {
    expect(() => new HttpPlace('docs.hs')).toThrow(
      new RangeError(
        '"url" expected an address that begins with https:// or http://, got "docs.hs"',
      ),
    );
    expect(() => new HttpPlace('file:///docs.hs')).toThrow(RangeError);
    expect(() => new HttpPlace(3 as never)).toThrow(TypeError);
  });
});

describe('a host that fails for a while', () => {
  it.each([408, 429, 500, 503])('is asked again after %i', async (status) => {
    host.behave = ({ count }, response) => {
      if (count <= 2) response.writeHead(status).end('not now');
      return count <= 2;
    };
    expect(await rangesIn(files, file, [{ at: 5, length: 5 }])).toEqual([content.slice(5, 10)]);
    expect(host.asked.length).toBe(3);
  });

  it('is asked again when it closes before or within its answer, or sends less', async () => {
    host.behave = ({ count }, response, request) => {
      if (count === 1) request.socket.destroy();
      const head = { 'content-range': `bytes 0-99999/${BYTES}` };
      if (count === 2) {
        response.writeHead(206, { ...head, 'content-length': 100_000 });
        response.write(content.subarray(0, 5000), () => request.socket.destroy());
      }
      if (count === 3) response.writeHead(206, head).end(content.subarray(0, 5000));
      return count <= 3;
    };
    const wanted = [{ at: 0, length: 100_000 }];
    expectBytes(await rangesIn(files, file, wanted), wanted);
    expect(host.asked.length).toBe(4);
  });

  it('is given the time it asks for', { tags: 'thorough' }, async () => {
    const times: number[] = [];
    host.behave = ({ count }, response) => {
      times.push(performance.now());
      if (count === 1) response.writeHead(503, { 'retry-after': '1' }).end();
      return count === 1;
    };
    await rangesIn(files, file, [{ at: 5, length: 5 }]);
    expect(times[1] - times[0]).toBeGreaterThan(950);
  });

  it('is given up after five tries, with what it said last', { tags: 'thorough' }, async () => {
    host.behave = (_, response) => Boolean(response.writeHead(503).end());
    expect((await errorOf()).message).toMatch(/the host answered 503 Service Unavailable$/);
    expect(host.asked.length).toBe(5);
    host.behave = (_, response) => Boolean(response.writeHead(206).end(content.subarray(0, 7)));
    const error = await errorOf();
    expect(error).toBeInstanceOf(FormatError);
    expect(error.message).toMatch(/cut short: 7 bytes came of 500 from byte 1000 on/);
  });

  it('is given up when nothing comes, or so little at a time that it never ends', async () => {
    files = new HttpPlace(host.url, 300);
    host.behave = () => true;
    expect((await errorOf()).message).toMatch(
      /rows.arrow: the host took more than 0.3 s for 1 MiB/,
    );
    expect(host.asked.length).toBe(1);
    host.behave = (_, response) => {
      response.writeHead(206, { 'content-range': `bytes 1000-1499/${BYTES}` });
      const drip = setInterval(() => response.write('x'), 20);
      response.on('close', () => clearInterval(drip));
      return true;
    };
    const start = performance.now();
    expect((await errorOf()).message).toMatch(
      /the host took more than 0.3 s for 1 MiB, or for what was left/,
    );
    expect(performance.now() - start).toBeLessThan(5000);
    // A wait that the host asks for beyond the limit is an error at once.
    host.behave = (_, response) => Boolean(response.writeHead(503, { 'retry-after': '9' }).end());
    expect((await errorOf()).message).toMatch(/503/);
    expect(host.asked.length).toBe(3);
  });

  it('is followed to another address, five times at most', async () => {
    host.behave = ({ count }, response) => {
      if (count <= 5) response.writeHead(302, { location: `./rows.arrow?${count}` }).end();
      return count <= 5;
    };
    expect(await rangesIn(files, file, [{ at: 5, length: 5 }])).toEqual([content.slice(5, 10)]);
    expect(host.asked.length).toBe(6);
    host.behave = (_, response) => Boolean(response.writeHead(302, { location: '' }).end());
    expect((await errorOf()).message).toMatch(/rows.arrow: the host names another address 5 times/);
    expect(host.asked.length).toBe(12);
  });

  it('cannot be reached', { tags: 'thorough' }, async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as { port: number };
    closed.close();
    files = new HttpPlace(`http://127.0.0.1:${port}/`);
    await expect(files.manifest()).rejects.toThrow(
      /^http:\/\/127.0.0.1:\d+\/manifest.json: the host cannot be reached.*\(CORS\).*ECONNREFUSED/,
    );
  });
});

describe('a host that cannot be used', () => {
  it.each([
    [401, /the host answered 401 Unauthorized/],
    [403, /the host answered 403 Forbidden/],
    [404, /it is missing, the manifest names it/],
    [410, /it is missing, the manifest names it/],
    [304, /the host answered 304/],
  ])('is not asked again after %i', async (status, words) => {
    host.behave = ({ name }, response) => {
      if (name === file.name) response.writeHead(status).end();
      return name === file.name;
    };
    expect((await errorOf()).message).toMatch(words);
    expect(host.asked.filter(({ name }) => name === file.name).length).toBe(1);
  });

  it('ignores ranges: its whole file is not read', async () => {
    let sent = 0;
    host.behave = (_, response) => {
      response.writeHead(200);
      const send = () => {
        while (!response.destroyed && sent < 2 ** 26) {
          sent += BYTES;
          if (!response.write(content)) return;
        }
        response.end();
      };
      response.on('drain', send);
      send();
      return true;
    };
    expect((await errorOf()).message).toMatch(/ignores range requests, it answered 200 with/);
    expect(host.asked.length).toBe(1);
    expect(sent).toBeLessThan(2 ** 26);
  });

  it('may answer 200 where all of a file is wanted', async () => {
    host.behave = (_, response) => Boolean(response.writeHead(200).end(content));
    const all = [{ at: 0, length: BYTES }];
    expectBytes(await rangesIn(files, file, all), all);
    const shorter = { ...file, bytes: BYTES - 1 };
    const error = await errorOf([{ at: 0, length: BYTES - 1 }], shorter);
    expect(error.message).toMatch(/damaged: more than 399999 bytes came/);
  });

  it.each([
    [
      'another range',
      'bytes 0-499/400000',
      /1000 to 1499 were asked for, .* "bytes 0-499\/400000"/,
    ],
    ['less than the range', 'bytes 1000-1009/400000', /the host answered "bytes 1000-1009/],
    ['a longer file', 'bytes 1000-1499/400001', /damaged: 400001 bytes, the manifest says 400000/],
    ['a shorter file', 'bytes 1000-1499/2000', /cut short: 2000 bytes, the manifest says 400000/],
    ['what is no range', 'lines 1-2', /the host answered "lines 1-2"/],
  ])('says that it sends %s', async (_, said, words) => {
    host.behave = (__, response) => {
      response.writeHead(206, { 'content-range': said }).end(content.subarray(0, 500));
      return true;
    };
    const error = await errorOf();
    expect(error).toBeInstanceOf(FormatError);
    expect(error.message).toMatch(words);
    expect(host.asked.length).toBe(1);
  });

  it('sends more than it says, without end', async () => {
    host.behave = (_, response) => {
      response.writeHead(206, { 'content-range': `bytes 1000-1499/${BYTES}` });
      const send = () => response.destroyed || response.write(content.subarray(0, 400), send);
      send();
      return true;
    };
    expect((await errorOf()).message).toMatch(/damaged: more than 500 bytes came/);
  });

  it('has a shorter file than the manifest says', async () => {
    served.set(file.name, content.subarray(0, 900));
    expect((await errorOf()).message).toMatch(/cut short: 900 bytes, the manifest says 400000/);
    expect((await errorOf([{ at: 0, length: 950 }])).message).toMatch(/cut short: 900 bytes/);
  });

  it('hides the range, as hosts of other pages do: what has the right length is returned', async () => {
    host.behave = (_, response) => {
      response.writeHead(206).end(content.subarray(1000, 1500));
      return true;
    };
    const [read] = await rangesIn(files, file, [{ at: 1000, length: 500 }]);
    expect(read).toEqual(content.slice(1000, 1500));
  });
});

it('a file that is missing since another generation was published: to be opened again', async () => {
  served.delete(file.name);
  expect(await errorOf()).toBeInstanceOf(FormatError);
  const read = () => explained(files, 7, rangesIn(files, file, [{ at: 0, length: 1 }]));
  await expect(read()).rejects.toThrow(/the manifest names it$/);
  served.set('manifest.json', manifestOf(8));
  await expect(read()).rejects.toThrow(/generation 8 was saved since: open the index again/);
});

describe('a read that is stopped', () => {
  it('ends at once by its signal: in its request, in the queue, and before the next try', async () => {
    const stop = new AbortController();
    host.behave = ({ range }, response) => {
      if (range === 'bytes=0-0') response.writeHead(503, { 'retry-after': '9' }).end();
      return true; // never answered
    };
    const far = Array.from({ length: 20 }, (_, i) => ({ at: 19_000 * i, length: 1 }));
    const reads = rangesIn(files, file, far, stop.signal).catch((error) => error);
    await expect.poll(() => host.asked.length).toBeGreaterThanOrEqual(7);
    stop.abort(new Error('enough'));
    expect((await reads).message).toBe('enough');
    await expect(rangesIn(files, file, far, stop.signal)).rejects.toThrow('enough');
    host.behave = () => false;
    expect(await rangesIn(files, file, [{ at: 1, length: 1 }])).toEqual([content.slice(1, 2)]);
  });

  // Of an index of more than ten segments Node warned on stderr of a leak.
  it('adds one listener to its signal, whatever the number of reads and of tries', async () => {
    const warnings: string[] = [];
    const warn = ({ name }: Error) => void warnings.push(name);
    process.on('warning', warn);
    host.behave = ({ count }, response) => count <= 20 && !!response.writeHead(503).end();
    const { signal } = new AbortController();
    const far = Array.from({ length: 20 }, (_, i) => ({ at: 19_000 * i, length: 1 }));
    const reads = [rangesIn(files, file, far, signal)];
    for (const one of far) reads.push(rangesIn(files, file, [one], signal));
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    expectBytes((await Promise.all(reads)).flat(), [...far, ...far]);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    process.off('warning', warn);
    expect(warnings).toEqual([]);
  });

  it('ends when the files are closed', async () => {
    host.behave = () => true;
    const read = rangesIn(files, file, [{ at: 1, length: 1 }]).catch((error) => error);
    await expect.poll(() => host.asked.length).toBe(1);
    await files.close();
    expect((await read).message).toMatch(/closed while it was read/);
    const later = await rangesIn(files, file, [{ at: 1, length: 1 }]).catch((error) => error);
    expect(later.message).toMatch(/it is closed$/);
    expect(host.asked.length).toBe(1);
  });

  it('ends the other requests of a read that failed', async () => {
    let closed = 0;
    host.behave = ({ range }, response) => {
      if (range === 'bytes=0-0') setTimeout(() => response.writeHead(403).end(), 50);
      else response.on('close', () => closed++);
      return true;
    };
    const far = Array.from({ length: 5 }, (_, i) => ({ at: 19_000 * i, length: 1 }));
    await expect(rangesIn(files, file, far)).rejects.toThrow(/403/);
    await expect.poll(() => closed).toBe(4);
  });
});
