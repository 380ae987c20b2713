/**
 * One page that stands alone: no script, no font, no picture from elsewhere, and a policy that
 * forbids all of them, so that it can be sent and kept. Light or dark as the reader's screen is.
 */

import { createHash } from 'node:crypto';
import { printable } from '../output/figures';

/** Okabe & Ito's colours (2008), and lighter ones of the same order on dark. */
const LIGHT = '#0072b2 #d55e00 #009e73 #cc79a7 #e69f00 #56b4e9 #8c6bb1 #5c5c5c'.split(' ');
const DARK = '#4aa3df #f0803c #2fc79b #e3a2c6 #f2bd42 #a5d8ff #b79ddb #b0b0b0'.split(' ');

/** The palette as variables of CSS: `--c0`, `--c1` and so on. */
const variables = (colours: readonly string[]) =>
  colours.map((colour, i) => `--c${i}:${colour}`).join(';');

const STYLE = `
:root{color-scheme:light dark;--ink:#0f172a;--soft:#475569;--grid:#e2e8f0;--paper:#fff;
--good:#00684c;--bad:#a33c00;${variables(LIGHT)}}
@media (prefers-color-scheme:dark){:root{--ink:#e8edf4;--soft:#a3b1c4;--grid:#2c3748;
--paper:#10151d;--good:#5fd6ae;--bad:#ffa06b;${variables(DARK)}}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.5rem 1rem 4rem;max-width:60rem;background:var(--paper);
color:var(--ink);font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.6rem;margin:0 0 .5rem}h2{font-size:1.2rem;margin:2.5rem 0 .5rem}
p{margin:.5rem 0;max-width:46rem}.soft,figcaption,caption{color:var(--soft)}
.good{color:var(--good);font-weight:600}.bad{color:var(--bad);font-weight:600}
pre{padding:.75rem 1rem;border:1px solid var(--grid);border-radius:.5rem;white-space:pre-wrap;
overflow-wrap:anywhere;font:14px/1.5 ui-monospace,monospace}
.wide{overflow-x:auto}table{border-collapse:collapse;margin:.5rem 0}caption{text-align:left}
th,td{padding:.25rem .9rem .25rem 0;text-align:left;vertical-align:top;
border-bottom:1px solid var(--grid);overflow-wrap:anywhere;min-width:4rem}
th{font-weight:600}.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
figure{margin:.5rem 0;overflow-x:auto}.chart{display:block;width:100%;min-width:34rem;height:auto}
.chart text{font:13px system-ui,sans-serif;fill:var(--soft)}
.chart .note{fill:var(--ink);font-weight:600;paint-order:stroke;
stroke:var(--paper);stroke-width:3px}
.frame{fill:none;stroke:var(--grid)}.grid{stroke:var(--grid);fill:none}
.rule{stroke:var(--ink);fill:none;stroke-dasharray:2 3}
.line{fill:none;stroke:var(--c);stroke-width:2.2;stroke-linejoin:round}.dashed{stroke-dasharray:6 4}
.area{fill:var(--c);fill-opacity:.3;stroke:none}.bar{fill-opacity:.55}
.dot{fill:var(--c);stroke:var(--paper);stroke-width:.6}
.grey{--c:var(--soft)}${LIGHT.map((_, i) => `.c${i}{--c:var(--c${i})}`).join('')}
@media print{h2{break-after:avoid}figure,table{break-inside:avoid}}
`;

const STYLE_DIGEST = createHash('sha256').update(STYLE).digest('base64');

/**
 * Nothing is loaded, sent or run, and no style but the page's own counts, even if text of a user
 * had come through as HTML.
 */
const POLICY =
  `default-src 'none'; style-src 'sha256-${STYLE_DIGEST}'; ` +
  "img-src data:; base-uri 'none'; form-action 'none'";

/** The whole page. `body` is HTML, `title` is text. */
export function page(title: string, body: readonly string[]): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>${escaped(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escaped(title)}</h1>
${body.join('\n')}
</main>
</body>
</html>
`;
}

/** A heading and what is under it; `name` is where a link leads. */
export function section(name: string, heading: string, content: readonly string[]): string {
  const start = `<section id="${name}-section">`;
  return [start, `<h2>${escaped(heading)}</h2>`, ...content, '</section>'].join('\n');
}

/** Text; `look` sets it back, or says whether it is good or bad news. */
export function paragraph(text: string, look?: 'soft' | 'good' | 'bad'): string {
  return `<p${look === undefined ? '' : ` class="${look}"`}>${escaped(text)}</p>`;
}

/** Something to be copied as it is. */
export function verbatim(text: string): string {
  return `<pre>${escaped(text)}</pre>`;
}

/** A chart and what it shows. */
export function figure(chart: string, caption: string): string {
  return `<figure>${chart}<figcaption>${escaped(caption)}</figcaption></figure>`;
}

/** Text, or a number, which is set to the right. */
export type Cell = string | { readonly number: string };

/** Cells of numbers. */
export function numbers(...texts: readonly string[]): Cell[] {
  return texts.map((number) => ({ number }));
}

/** Rows under a heading each column; without headings, the first cell of a row is its heading. */
export function table(headings: readonly Cell[], rows: readonly (readonly Cell[])[]): string {
  const cell = (tag: string, content: Cell) => {
    const [name] = tag.split(' ');
    return typeof content === 'string'
      ? `<${tag}>${escaped(content)}</${name}>`
      : `<${tag} class="number">${escaped(content.number)}</${name}>`;
  };
  const isBare = headings.length === 0;
  const head = isBare
    ? ''
    : `<thead><tr>${headings.map((one) => cell('th', one)).join('')}</tr></thead>`;
  const body = rows.map((row) => {
    const cells = row.map((one, i) => cell(isBare && i === 0 ? 'th scope="row"' : 'td', one));
    return `<tr>${cells.join('')}</tr>`;
  });
  return `<div class="wide"><table>${head}<tbody>${body.join('\n')}</tbody></table></div>`;
}

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text for an element or an attribute in quotes. */
export function escaped(text: string): string {
  const shown = printable(text.replace(/[\r\n\t\f\v]/g, ' '));
  return shown.replace(/[&<>"']/g, (character) => ENTITIES[character]);
}
