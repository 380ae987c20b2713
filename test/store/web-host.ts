/** A static web host on this machine, as plain or as badly behaved as a test wants it. */

import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

export interface Asked {
  readonly name: string;
  readonly range: string | null;
}

/** Answers in place of the host where it returns true. `count` is the number of requests of the file. */
type Behaviour = (
  asked: Asked & { count: number },
  response: ServerResponse,
  request: IncomingMessage,
) => boolean | Promise<boolean>;

export interface WebHost {
  readonly url: string;
  readonly asked: Asked[];
  /** Most requests that were open at the same time. */
  readonly parallel: number;
  readonly bytes: number;
  behave: Behaviour;
  close(): Promise<void>;
}

/** Serves files by their name: those of a folder, or of a table. */
export async function startHost(
  files: string | Map<string, Uint8Array>,
  headers: Record<string, string> = {},
): Promise<WebHost> {
  let [open, parallel, bytes] = [0, 0, 0];
  const asked: Asked[] = [];
  const fileOf = (name: string) => {
    if (typeof files === 'string') return fileAt(join(files, name));
    const content = files.get(name);
    return content && { size: content.length, read: content.subarray.bind(content) };
  };
  const server = createServer(async (request, response) => {
    open++;
    parallel = Math.max(parallel, open);
    response.on('close', () => open--);
    const name = decodeURIComponent(new URL(request.url ?? '', 'http://h').pathname).slice(1);
    const one = { name, range: request.headers.range ?? null };
    asked.push(one);
    const count = asked.filter((other) => other.name === name).length;
    for (const [key, value] of Object.entries(headers)) response.setHeader(key, value);
    if (await host.behave({ ...one, count }, response, request)) return;
    bytes += answer(fileOf(name), one.range, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    asked,
    get parallel() {
      return parallel;
    },
    get bytes() {
      return bytes;
    },
    behave: (() => false) as Behaviour,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return host;
}

interface ServedFile {
  readonly size: number;
  read(from: number, to: number): Uint8Array;
}

function fileAt(path: string): ServedFile | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (!stats?.isFile()) return undefined;
  const read = (from: number, to: number) => {
    const file = openSync(path, 'r');
    const bytes = new Uint8Array(Math.min(to, stats.size) - from);
    readSync(file, bytes, 0, bytes.length, from);
    closeSync(file);
    return bytes;
  };
  return { size: stats.size, read };
}

/** What a plain host says to a range of a file; returns the length of its body. */
function answer(file: ServedFile | undefined, range: string | null, response: ServerResponse) {
  if (file === undefined) {
    response.writeHead(404).end('no such file');
    return 0;
  }
  const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(range ?? '') ?? [];
  if (Number(first) >= file.size) {
    response.writeHead(416, { 'content-range': `bytes */${file.size}` }).end();
    return 0;
  }
  const from = Number(first ?? 0);
  const body = file.read(from, last ? Number(last) + 1 : file.size);
  const said = { 'content-range': `bytes ${from}-${from + body.length - 1}/${file.size}` };
  response
    .writeHead(last === undefined ? 200 : 206, {
      ...(last !== undefined && said),
      'content-length': body.length,
    })
    .end(body);
  return body.length;
}
