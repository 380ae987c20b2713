/**
 * The view of figures: sections of sentences, charts and tables, about the health of an index or a
 * calibration.
 */

import { html, nothing, type TemplateResult } from 'lit-html';
import type { App } from './app';
import type { HealthAnswer, Section, Table } from './messages';
import { Plot } from './plot';

/** The view; it shows `State.health`. */
export class FiguresView {
  /** By name of a section its chart, which keeps its element when the page is drawn again. */
  readonly #plots = new Map<string, Plot>();
  /** Whether the figures were asked for. */
  #isAsked = false;

  constructor(readonly app: App) {}

  /** Asks for the figures, once: the server then measures them, which takes a while. */
  async start(): Promise<void> {
    if (this.#isAsked) return;
    this.#isAsked = true;
    const health = await this.app.attempt(() => this.app.source.ask('health', null));
    if (health === undefined) this.#isAsked = false;
    else this.app.change({ health });
  }

  /** The sections; until they are measured, how far this is, or that it failed. */
  view(): TemplateResult {
    const { health, status, error } = this.app.state;
    if (health === null) {
      const what = error === null ? `${status.label || 'measuring'} …` : 'not measured';
      return html`<main class="figures"><p class="making" role="status">${what}</p></main>`;
    }
    return html`<main class="figures">${this.#sections(health)}</main>`;
  }

  /** The sections in their order; the name of each is in the id of its element. */
  #sections({ sections }: HealthAnswer): TemplateResult[] {
    return sections.map(
      (section) => html`<section id=${`${section.name}-section`} class=${section.tone ?? ''}>
        <h2>${section.heading}</h2>
        ${section.command ? html`<pre tabindex="0">${section.command}</pre>` : nothing}
        ${section.sentences.map((sentence) => html`<p>${sentence}</p>`)} ${this.#chart(section)}
        ${section.table === undefined ? nothing : tableOf(section)}
      </section>`,
    );
  }

  /** The chart of a section, if it has one, with its description as the caption. */
  #chart({ name, chart }: Section): TemplateResult | typeof nothing {
    if (chart === undefined) return nothing;
    let plot = this.#plots.get(name);
    if (plot === undefined) {
      plot = new Plot(chart);
      this.#plots.set(name, plot);
    }
    return html`<figure>
      ${plot.element}
      <figcaption class="note">${chart.description}</figcaption>
    </figure>`;
  }
}

/** A table; below a chart, which shows most of the same, it is folded. Numbers go to the right. */
function tableOf({ heading, table, chart }: Section): TemplateResult {
  const { head, rows } = table as Table;
  // Numbers, also with signs, per cent or units of bytes, and – for a missing one.
  const isNumber = (column: number) =>
    rows.length > 0 && rows.every((row) => /^[−\d.,<>–% ]+( [KMGT]?B)?$/.test(row[column] ?? ''));
  const numbers = head.map((_, column) => (isNumber(column) ? 'number' : ''));
  const content = html`<div class="scroll" tabindex="0" role="region" aria-label=${heading}>
    <table>
      <thead>
        <tr>
          ${head.map((name, i) => html`<th scope="col" class=${numbers[i]}>${name}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr>
              ${row.map((cell, i) => html`<td class=${numbers[i]} dir="auto">${cell}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
  if (chart === undefined) return content;
  return html`<details><summary>As a table</summary>${content}</details>`;
}
