/**
 * The local server of the page. It listens on 127.0.0.1; a random token is part of every address.
 * Refuses a request without the token, to another host name (DNS rebinding), or from a page of
 * another origin. The page may load nothing from elsewhere. `POST ask/QUESTION` answers as JSON.
 * Questions come from outside, so every field is checked. The map takes long: it is made once, at
 * the first question for it.
 */

import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { checkInteger, checkOneOf, messageOf, wrongType } from '../../base/check';
import type { Call } from '../../cli/call';
import { jsonOf } from '../../cli/output/figures';
import { mapRows } from '../layout/map-rows';
import {
  type Decision,
  MAX_CARDS,
  packed,
  type Question,
  type Questions,
  type RowsAnswer,
  type SearchRequest,
} from '../messages';
import { type Explored, once } from './explored';
import { mapAnswer } from './map';
import { Conflict, type PlanFile, Review } from './review';

/** Answers a question; throws a RangeError or TypeError where the question is wrong. */
export type Answer = (question: string, asked: unknown) => Promise<unknown>;

/** Files of the page by name, each with its media type; '' is the page itself. */
export type PageFiles = Readonly<Record<string, { readonly type: string; readonly text: string }>>;

/** Bytes of a question above which it is refused. */
const MAX_ASKED = 16 * 2 ** 20;

/** Headers of every answer: own files alone, no frames around the page, nothing in a cache. */
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
  /** 0 for any free port. */
  readonly port: number;
  readonly files: PageFiles;
  readonly answer: Answer;
}

interface Server {
  /** The address of the page, token included. */
  readonly address: string;
  /** Ends all connections, also those that wait for an answer. */
  close(): Promise<void>;
}

/** Starts a server; rejects if the port is taken. */
export async function startServer({ port, files, answer }: ServerOptions): Promise<Server> {
  const token = randomBytes(18).toString('base64url');
  let hosts: readonly string[] = [];
  const server = createServer((request, response) => {
    const reply = (status: number, type: string, text: string) => {
      response.writeHead(status, { ...HEADERS, 'Content-Type': `${type}; charset=utf-8` });
      response.end(request.method === 'HEAD' ? undefined : text);
    };
    const isOurs = hosts.includes(request.headers.host ?? '') && isSameOrigin(request, hosts);
    // The path is /TOKEN/FILE, or /TOKEN/ask/QUESTION.
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
  // No limit: else a question after a pause can meet its connection as it is being closed.
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

/**
 * Answers a question with status 200, or an error as `{ error: message }`: 400 for a wrong
 * question, 409 for a Conflict, 500 for any other failure.
 */
async function replyTo(
  request: IncomingMessage,
  answer: (asked: unknown) => Promise<unknown>,
  reply: Reply,
): Promise<void> {
  try {
    const asked = JSON.parse(await bodyOf(request));
    reply(200, 'application/json', JSON.stringify(await answer(asked), jsonOf));
  } catch (error) {
    const isWrong = ['RangeError', 'TypeError', 'SyntaxError', 'CommandError'].includes(
      (error as Error)?.name,
    );
    const status = error instanceof Conflict ? 409 : isWrong ? 400 : 500;
    const message = messageOf(error);
    reply(status, 'application/json', JSON.stringify({ error: message }));
  }
}

/**
 * The body of a question. Its type must be JSON, which a form of another site cannot send; throws
 * above MAX_ASKED bytes, without reading the rest.
 */
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

/**
 * True unless a browser says that another site asks. A POST must say its origin, ours; a GET may
 * have none, as the first one from an address that was typed.
 */
function isSameOrigin({ headers, method }: IncomingMessage, hosts: readonly string[]): boolean {
  const { origin, 'sec-fetch-site': site } = headers;
  if (origin !== undefined) return hosts.some((host) => origin === `http://${host}`);
  if (method === 'POST') return false;
  return site === undefined || site === 'same-origin' || site === 'none';
}

/** Compares in a time that does not depend on how many characters are right. */
function isEqual(given: string, token: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(token)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Hits of one search, at most. */
const MAX_HITS = 1000;

type Given = Readonly<Record<string, unknown>>;
/** What answers each question; the status is answered by the verb itself. */
type Answers = {
  readonly [Q in Exclude<Question, 'status'>]: (
    asked: Given,
  ) => Questions[Q][1] | Promise<Questions[Q][1]>;
};

/**
 * Returns the function that answers questions about what is explored. It throws a RangeError or a
 * TypeError for a wrong question, and a Conflict for a decision that comes too late.
 */
export function answersOf(call: Call, explored: Explored, planFile: PlanFile): Answer {
  const map = once(async () =>
    mapAnswer(explored, await mapRows(await explored.mapPoints(), call.long)),
  );
  const review = once(() => Review.open(explored, planFile));
  const answers: Answers = {
    about: () => explored.about(),
    rows: ({ filter }) => rowsAnswer(explored, textOf('filter', filter)),
    cards: ({ rows }) => explored.cardsOf(rowsOf(explored, rows)),
    ids: ({ text }) => explored.idsLike(textOf('text', text)),
    search: (asked) => explored.search(searchOf(explored, asked)),
    map,
    review: async () => (await review()).answer(),
    group: async ({ group }) => (await review()).group(group as number),
    decide: async ({ group, before, after }) =>
      (await review()).decide({
        group: group as number,
        before: decisionOf('before', before),
        after: decisionOf('after', after),
      }),
  };
  return async (question, asked) => {
    const names = Object.keys(answers) as (keyof Answers)[];
    const name = checkOneOf('question', question as keyof Answers, names);
    return answers[name]((asked ?? {}) as Given);
  };
}

function textOf(name: string, value: unknown): string {
  if (typeof value === 'string') return value;
  throw wrongType(name, 'a string', value);
}

/** A field that must be an array of rows that are there; rows after the first MAX_CARDS are cut. */
function rowsOf(explored: Explored, rows: unknown): number[] {
  if (!Array.isArray(rows)) throw wrongType('rows', 'an array', rows);
  return rows.slice(0, MAX_CARDS).map((row) => explored.checkRow(row));
}

function rowsAnswer(explored: Explored, filter: string): RowsAnswer {
  const rows = explored.carried.rowsThatMeet(filter);
  return {
    total: rows.length,
    matching: filter.trim() === '' ? null : packed(rows),
    cards: explored.cardsOf([...rows.subarray(0, MAX_CARDS)]),
  };
}

/** A search, checked: by a text, an id or a row, the first of these that is given. */
function searchOf(explored: Explored, { text, id, row, k, filter }: Given): SearchRequest {
  const base = { k: checkInteger('k', k, 1, MAX_HITS), filter: textOf('filter', filter) };
  if (text !== undefined) return { ...base, text: textOf('text', text) };
  if (id !== undefined) return { ...base, id: textOf('id', id) };
  return { ...base, row: explored.checkRow(row) };
}

/** A decision whose fields have the right types; `Review` compares what they say with the plan. */
function decisionOf(name: string, given: unknown): Decision {
  const { kept, isReviewed } = (given ?? {}) as Given;
  const isRight = Array.isArray(kept) && kept.every(Number.isInteger);
  if (isRight && typeof isReviewed === 'boolean') return { kept: kept as number[], isReviewed };
  throw wrongType(name, '{ kept, isReviewed }', given);
}
