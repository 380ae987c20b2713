/**
 * The page of `explore`, as one file that holds what it shows, or served. By its
 * Content-Security-Policy it runs and loads only its own script and style; what users wrote is in
 * it as data alone.
 *
 * The local server listens on 127.0.0.1; a random token is part of every address. Refuses a request
 * without the token, to another host name (DNS rebinding), or from a page of another origin. The
 * page may load nothing from elsewhere. `POST ask/QUESTION` answers as JSON. Questions come from
 * outside, so every field is checked. The map takes long: it is made once, at the first question
 * for it.
 */

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { checkOneOf, checkText, messageOf, wrongType } from '../../base/check';
import type { Call } from '../../cli/call';
import { jsonOf } from '../../cli/output/figures';
import { mapRows } from '../layout/map-rows';
import {
  type Decision,
  type Held,
  MAX_CARDS,
  type Question,
  type Questions,
  type Status,
} from '../messages';
import { type Explored, once } from './explored';
import { mapAnswer } from './map';
import { Conflict, type PlanFile, Review } from './review';

/** Answers a question; throws a RangeError or TypeError where the question is wrong. */
export type Answer = (question: string, asked: unknown) => Promise<unknown>;

/** Files of the page by name, each with its media type; '' is the page itself. */
type PageFiles = Readonly<Record<string, { readonly type: string; readonly text: string }>>;

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

/**
 * Starts a server; rejects if the port is taken. Its address has the token; `close` ends all
 * connections, also those that wait for an answer.
 */
export async function startServer({ port, files, answer }: ServerOptions) {
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
      return new Promise<void>((resolve) => server.close(() => resolve()));
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

type Given = Readonly<Record<string, unknown>>;
/** What answers each question. */
type Answers = {
  readonly [Q in Question]: (asked: Given) => Questions[Q][1] | Promise<Questions[Q][1]>;
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
  let status: Status = { label: '', share: null };
  // From here on progress is that of a single question, such as the one for the map.
  call.talk.onProgress = (label, share) => {
    status = { label, share };
  };
  const answers: Answers = {
    status: () => status,
    about: () => explored.about(),
    find: ({ query, row, filter }) =>
      explored.find({
        query: checkText('query', query),
        ...(row !== undefined && { row: explored.checkRow(row) }),
        filter: checkText('filter', filter),
      }),
    cards: ({ rows }) => explored.cardsOf(rowsOf(explored, rows)),
    ids: ({ text }) => explored.idsLike(checkText('text', text)),
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

/** A field that must be an array of rows that are there; rows after the first MAX_CARDS are cut. */
function rowsOf(explored: Explored, rows: unknown): number[] {
  if (!Array.isArray(rows)) throw wrongType('rows', 'an array', rows);
  return rows.slice(0, MAX_CARDS).map((row) => explored.checkRow(row));
}

/** A decision whose fields have the right types; `Review` compares what they say with the plan. */
function decisionOf(name: string, given: unknown): Decision {
  const { kept, isReviewed } = (given ?? {}) as Given;
  const isRight = Array.isArray(kept) && kept.every(Number.isInteger);
  if (isRight && typeof isReviewed === 'boolean') return { kept: kept as number[], isReviewed };
  throw wrongType(name, '{ kept, isReviewed }', given);
}

/** The script and the style of src/explore/page, which the build puts next to the command. */
async function built(): Promise<{ script: string; style: string }> {
  const read = (name: string) => readFile(new URL(name, import.meta.url), 'utf8');
  const [script, style] = await Promise.all([read('explorer.js'), read('explorer-style.css')]);
  return { script, style };
}

const MARK =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" aria-hidden="true">' +
  '<path fill="#0072b2" d="M3 3h10L3 13z"/><path fill="#e69f00" d="M13 3v10H3z"/></svg>';

/** A page with its logo and title as HTML, so that they are painted before the script has run. */
function html(head: string, body: string, title: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
${head}
<title>${escaped(title)}</title>
<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(MARK)}">
</head>
<body>
<div id="page">
<header class="top">${MARK}<h1 dir="auto">${escaped(title)}</h1></header>
</div>
${body}
</body>
</html>
`;
}

/** The files that the server sends; its headers have the policy. */
export async function servedPage(title: string): Promise<PageFiles> {
  const { script, style } = await built();
  const head = '<link rel="stylesheet" href="explorer.css">';
  const body = '<script src="explorer.js"></script>';
  return {
    '': { type: 'text/html', text: html(head, body, title) },
    'explorer.js': { type: 'text/javascript', text: script },
    'explorer.css': { type: 'text/css', text: style },
  };
}

/**
 * The page in one file, with what it shows as JSON in its own element. It loads nothing; its
 * policy allows the script and the style by their digests.
 */
export async function singlePage(held: Held): Promise<string> {
  const { script, style } = await built();
  // Without any < the data cannot end its element, nor begin a comment or a script.
  const data = JSON.stringify(held, jsonOf).replaceAll('<', '\\u003c');
  const code = script.replaceAll('</script', '<\\/script');
  const policy =
    `default-src 'none'; script-src ${digest(code)}; style-src ${digest(style)}; ` +
    "img-src data:; base-uri 'none'; form-action 'none'";
  const head = `<meta http-equiv="Content-Security-Policy" content="${policy}">
<style>${style}</style>`;
  const body = `<script type="application/json" id="held">${data}</script>
<script>${code}</script>`;
  return html(head, body, held.about.title);
}

/** A text's SHA-256 as a source of a Content-Security-Policy. */
const digest = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** A text as the content of an HTML element; not for attributes, since quotes stay. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
