/**
 * The local server of the page: on 127.0.0.1, under a random token that is part of every address.
 * A request without the token, for another host (DNS rebinding) or from another origin is refused,
 * and the page may load nothing from anywhere else. It answers questions as JSON.
 */

import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Answers a question; throws a RangeError or TypeError where the question is wrong. */
export type Answer = (question: string, asked: unknown) => Promise<unknown>;

/** Files of the page by their names. */
export type PageFiles = Readonly<Record<string, { readonly type: string; readonly text: string }>>;

/** A question that contradicts what another one has changed meanwhile. */
export class Conflict extends Error {}

/** Bytes of a question above which it is refused. */
const MAX_ASKED = 16 * 2 ** 20;

const HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
};

interface ServerOptions {
  /** 0 for a free one. */
  readonly port: number;
  readonly files: PageFiles;
  readonly answer: Answer;
}

interface Server {
  /** With the token. */
  readonly address: string;
  close(): Promise<void>;
}

/** Starts a server; rejects where the port is taken. */
export async function startServer({ port, files, answer }: ServerOptions): Promise<Server> {
  const token = randomBytes(18).toString('base64url');
  let hosts: readonly string[] = [];
  const server = createServer((request, response) => {
    const reply = (status: number, type: string, text: string) => {
      response.writeHead(status, { ...HEADERS, 'Content-Type': `${type}; charset=utf-8` });
      response.end(request.method === 'HEAD' ? undefined : text);
    };
    const isOurs = hosts.includes(request.headers.host ?? '') && isSameOrigin(request, hosts);
    const [, given = '', ...rest] = (request.url ?? '').split('?')[0].split('/');
    if (!isOurs || !isEqual(given, token)) {
      reply(403, 'text/plain', 'refused: open the address that halfspace explore has printed\n');
      return;
    }
    const path = rest.join('/');
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const file = Object.hasOwn(files, path) ? files[path] : undefined;
    if (rest.length > 0 && isRead && file !== undefined) reply(200, file.type, file.text);
    else if (request.method === 'POST' && rest[0] === 'ask') {
      void replyTo(request, (asked) => answer(rest[1], asked), reply);
    } else reply(404, 'text/plain', 'no such page\n');
  });
  // A question that comes after a pause must not find its connection closed just then.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const own = (server.address() as AddressInfo).port;
  hosts = [`127.0.0.1:${own}`, `localhost:${own}`];
  return {
    address: `http://127.0.0.1:${own}/${token}/`,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

type Reply = (status: number, type: string, text: string) => void;

/** Answers a question: 400 where it is wrong, 409 where it came too late, 500 where we failed. */
async function replyTo(
  request: IncomingMessage,
  answer: (asked: unknown) => Promise<unknown>,
  reply: Reply,
): Promise<void> {
  try {
    const asked = JSON.parse(await bodyOf(request));
    reply(200, 'application/json', JSON.stringify(await answer(asked), withBigInts));
  } catch (error) {
    const isWrong = ['RangeError', 'TypeError', 'SyntaxError', 'CommandError'].includes(
      (error as Error)?.name,
    );
    const status = error instanceof Conflict ? 409 : isWrong ? 400 : 500;
    const message = error instanceof Error ? error.message : String(error);
    reply(status, 'application/json', JSON.stringify({ error: message }));
  }
}

const withBigInts = (_: string, value: unknown) =>
  typeof value === 'bigint' ? String(value) : value;

/** The JSON that was sent; other types are what a form of another site could send. */
async function bodyOf(request: IncomingMessage): Promise<string> {
  if (!/^application\/json\b/.test(request.headers['content-type'] ?? '')) {
    throw new TypeError('expected application/json');
  }
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request) {
    bytes += part.length;
    if (bytes > MAX_ASKED) throw new RangeError(`expected at most ${MAX_ASKED} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

/** False where a browser says that another site asks; a question must come from our page. */
function isSameOrigin({ headers, method }: IncomingMessage, hosts: readonly string[]): boolean {
  const { origin, 'sec-fetch-site': site } = headers;
  if (origin !== undefined) return hosts.some((host) => origin === `http://${host}`);
  if (method === 'POST') return false;
  return site === undefined || site === 'same-origin' || site === 'none';
}

/** Compares without the time telling how much is right. */
function isEqual(given: string, token: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(token)];
  return a.length === b.length && timingSafeEqual(a, b);
}
