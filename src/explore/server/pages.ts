/**
 * The page of `explore` as files: those that the server sends, and the same page as one file that
 * holds what it shows. By their Content-Security-Policy both run and load only their own script
 * and style; what users wrote is in them as data alone.
 */

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { drawnNumbers } from '../../base/random';
import { jsonOf } from '../../cli/output/figures';
import type { PlacedRows } from '../layout/map-rows';
import type { Held, HeldMap } from '../messages';
import type { Explored } from './explored';
import { mapAnswer } from './map';
import type { PageFiles } from './server';

/** Rows on the map of a page in one file, at most: a few megabytes with cards of usual texts. */
const MAX_ROWS = 10_000;

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

/** The map of placed rows for a page in one file; of many rows a sample. Null without rows. */
export function heldMap(explored: Explored, all: PlacedRows): HeldMap | null {
  const placed = all.rows.length <= MAX_ROWS ? all : sampled(all);
  if (placed.rows.length === 0) return null;
  return {
    ...mapAnswer(explored, placed),
    cards: explored.cardsOf([...placed.rows]),
  };
}

/** MAX_ROWS of the placed rows, drawn at random, still ascending. */
function sampled(all: PlacedRows): Omit<PlacedRows, 'neighbors'> {
  const at = drawnNumbers(all.rows.length, MAX_ROWS, 0);
  return {
    rows: Uint32Array.from(at, (i) => all.rows[i]),
    x: Float32Array.from(at, (i) => all.x[i]),
    y: Float32Array.from(at, (i) => all.y[i]),
    labels: Uint8Array.from(at, (i) => all.labels[i]),
    exemplars: all.exemplars,
  };
}
