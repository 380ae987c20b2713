/**
 * The page as files: what the server sends, and the same page in one file with what it shows. Both
 * forbid everything but their own script and style; what users wrote is in them as data only.
 */

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Held } from '../../explorer/messages';
import type { PageFiles } from './server';

/** The script and the style as the build has made them, next to the command. */
async function built(): Promise<{ script: string; style: string }> {
  const read = (name: string) => readFile(new URL(name, import.meta.url), 'utf8');
  const [script, style] = await Promise.all([read('explorer.js'), read('explorer-style.css')]);
  return { script, style };
}

/** The mark of the page: two halves. */
const MARK =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" aria-hidden="true">' +
  '<path fill="#0072b2" d="M3 3h10L3 13z"/><path fill="#e69f00" d="M13 3v10H3z"/></svg>';

/** A page whose header is seen before its script has run. */
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

/** What the server sends of the page. */
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

/** The page in one file; it loads nothing, and its policy names its script by its digest. */
export async function singlePage(held: Held): Promise<string> {
  const { script, style } = await built();
  // Nothing in the data can end its element: no < is left in it.
  const data = JSON.stringify(held).replaceAll('<', '\\u003c');
  const code = script.replaceAll('</script', '<\\/script');
  const policy =
    `default-src 'none'; script-src ${digest(code)}; style-src ${digest(style)}; ` +
    "img-src data:; base-uri 'none'; form-action 'none'";
  const head = `<meta http-equiv="Content-Security-Policy" content="${policy}">
<style>${style}</style>`;
  const body = `<script type="application/json" id="held">${data}</script>
<script>${code}</script>`;
  return html(head, body, held.title);
}

const digest = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
