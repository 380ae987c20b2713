// What the benches measured last, for the page on performance: the tables of bench/figures.json, with a
// bar to each time, speed, size and share, as long as its part of the largest of its column.

import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const file = fileURLToPath(new URL('../bench/figures.json', import.meta.url));
/** Columns that have bars. */
const MEASURES =
  /\bms\b|µs|\bs\b|\/s|second|bytes|\b[KMG]B\b|memory|recall|precision|\bF1\b|cosine/;

/** Markdown that goes below the page; none where no bench has left figures. */
export function figuresText() {
  if (!existsSync(file)) return '';
  const runs = JSON.parse(readFileSync(file, 'utf8'));
  return ['', '## All figures of the last run', ...runs.map(runText), ''].join('\n\n');
}

function runText({ bench, machine, versions, commit, date, tables }) {
  const parts = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  const made = [machine, ...parts, `commit ${commit}`, date].map(escaped).join(', ');
  return [`### Bench \`${bench}\``, made, ...tables.map(tableText)].join('\n\n');
}

function tableText({ title, head, texts, rows }) {
  const columns = head.map((name, i) => {
    const numbers = i < texts || !MEASURES.test(name) ? [] : rows.map((row) => numberOf(row[i]));
    return { name, numbers, most: Math.max(0, ...numbers.filter(Number.isFinite)) };
  });
  const cell = (row, i, { numbers, most }) => {
    const text = escaped(String(row[i]));
    const share = most > 0 ? numberOf(row[i]) / most : Number.NaN;
    if (i === 0) return `<th scope="row">${text}</th>`;
    return `<td>${text}${numbers.length > 0 && share >= 0 ? bar(share) : ''}</td>`;
  };
  const lines = rows.map((row) => columns.map((column, i) => cell(row, i, column)).join(''));
  const names = head.map((name) => `<th scope="col">${escaped(name)}</th>`).join('');
  return (
    `<table class="figures" tabindex="0"><caption>${escaped(title)}</caption><thead><tr>${names}</tr></thead>` +
    `<tbody>${lines.map((line) => `<tr>${line}</tr>`).join('')}</tbody></table>`
  );
}

const bar = (share) =>
  `<svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">` +
  `<path d="M0 0H${(100 * share).toFixed(1)}V4H0z"/></svg>`;

/** The number at the start of a cell; NaN where there is none, as in "-", or a unit follows. */
function numberOf(cell) {
  const [, digits] = /^([\d,.]+)(?: x)?$/.exec(String(cell)) ?? [];
  return digits === undefined ? Number.NaN : Number(digits.replaceAll(',', ''));
}

const escaped = (text) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('{', '&#123;');
