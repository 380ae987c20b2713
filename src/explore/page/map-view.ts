/**
 * The first view: a panel to search, filter and list rows, next to the map of all rows. Both show
 * the same selection: rows that were found, that meet the filter, or that the lasso holds.
 */

import { html, nothing, type TemplateResult } from 'lit-html';
import type { Hit, SearchAnswer, Status } from '../messages';
import { uint32Of } from '../packed';
import { type App, type Link, type Listed, type QueryKind, setLink } from './app';
import { counted, grouped, short } from './format';
import { hitItem, rowsTable } from './lists';
import { MapPane } from './map-pane';

/** Rows that are listed, and hits of a search, at most. */
const LISTED = 100;
const HITS = 25;

/** The view; `start` is called once, when `about` is known. */
export class MapView {
  readonly pane: MapPane;
  /** The entry of the legend whose points alone are shown strongly; null for all. */
  #only: number | null = null;

  constructor(readonly app: App) {
    this.pane = new MapPane(app, {
      picked: (row) => void this.near(row),
      lassoed: (rows) => void this.lasso(rows),
      moved: (at) => setLink({ at }),
    });
  }

  /** Lists what a link asks for; then shows the map with the link's colours and place. */
  async start(link: Link): Promise<void> {
    const { app } = this;
    const { about } = app.state;
    const kinds: QueryKind[] = ['text', 'id', 'vector'];
    const usual = about?.hasText ? 'text' : 'id';
    const queryKind = kinds.find((kind) => kind === link.kind) ?? usual;
    app.change({ queryKind, query: link.q ?? '', filter: link.filter ?? '' });
    await this.list();
    if (app.state.query !== '') await this.search();
    const map = await app.askSlowly(() => app.source.ask('map', null));
    if (map === undefined) return;
    app.change({ map });
    this.pane.show(map, link.at);
    this.#mark();
    if (link.colour) await this.colour(link.colour);
  }

  /** Lists the rows that meet the filter, in place of hits; the other points fade. */
  async list(): Promise<void> {
    const { app } = this;
    const { filter } = app.state;
    const asked = { filter, first: 0, count: LISTED };
    const answer = await app.attempt(() => app.source.ask('rows', asked));
    if (answer === undefined) return this.#showNothing();
    setLink({ filter, q: '' });
    const { cards, total, matching } = answer;
    this.#show({ kind: matching === null ? 'all' : 'filtered', cards, total });
    this.pane.only(matching === null ? null : { rows: uint32Of(matching) });
  }

  /** After a question that failed: what was listed before must not pass for its answer. */
  #showNothing(): void {
    this.app.change({ listed: null, why: null });
    this.#mark();
    this.pane.only(null);
  }

  /** Applies the filter to what is listed: to the hits of a search, else to all rows. */
  async #filter(): Promise<void> {
    await (this.app.state.listed?.kind === 'hits' ? this.search() : this.list());
  }

  /** Searches for what is typed; lists rows if that is nothing. */
  async search(): Promise<void> {
    const { query, queryKind } = this.app.state;
    if (query.trim() === '') return this.list();
    if (queryKind !== 'vector') return this.#find({ [queryKind]: query });
    // Numbers as they are pasted: with commas, blanks or brackets between them.
    const vector = query
      .split(/[\s,;[\]]+/)
      .filter((word) => word !== '')
      .map(Number);
    await this.#find({ vector });
  }

  /** Searches for what is near a row; its id becomes the query. */
  async near(row: number): Promise<void> {
    await this.#find({ row });
  }

  /** Searches among the rows that meet the filter; lists and marks the hits, and links to them. */
  async #find(asked: {
    text?: string;
    id?: string;
    row?: number;
    vector?: number[];
  }): Promise<void> {
    const { app } = this;
    const { filter, query, queryKind } = app.state;
    app.change({ isBusy: true });
    const question = { ...asked, k: HITS, filter };
    const found = await app.askSlowly(() => app.source.ask('search', question));
    app.change({ isBusy: false });
    if (found === undefined) return this.#showNothing();
    const own = found.query;
    // A search for a row is linked and shown as one by its id, also after a click on the map.
    if (own === null) setLink({ q: query, kind: queryKind, filter });
    else {
      setLink({ q: own.id, kind: 'id', filter });
      app.change({ query: own.id, queryKind: 'id' });
    }
    this.#show({ kind: 'hits', ...found });
    this.pane.showMarked();
  }

  /** Lists rows within a lasso; the other points fade. */
  async lasso(rows: readonly number[]): Promise<void> {
    const { app } = this;
    const cards = await app.attempt(() => app.source.ask('cards', { rows: rows.slice(0, LISTED) }));
    app.change({ isLasso: false });
    if (cards === undefined) return;
    this.#show({ kind: 'lasso', cards, total: rows.length });
    this.pane.only(rows.length === 0 ? null : { rows: Uint32Array.from(rows) });
  }

  /** Lists rows or hits, and marks hits on the map. */
  #show(listed: Listed): void {
    this.app.change({ listed, why: null });
    this.#mark();
  }

  #mark(): void {
    const { listed } = this.app.state;
    if (listed?.kind === 'hits') {
      this.pane.mark(listed.hits, listed.query);
    } else this.pane.mark([], null);
  }

  /** Colours points by a column, or for '' by clusters. */
  async colour(column: string): Promise<void> {
    const { app } = this;
    this.#only = null;
    const answer =
      column === '' ? null : await app.attempt(() => app.source.ask('colours', { column }));
    if (answer === undefined) return;
    app.change({ colour: column });
    setLink({ colour: column });
    this.pane.colour(answer);
  }

  /** Shows the points of one entry of the legend strongly; at the second click all again. */
  #toggle(entry: number): void {
    this.#only = this.#only === entry ? null : entry;
    this.pane.only(this.#only === null ? null : { colour: this.#only });
    this.app.redraw();
  }

  /** Shows why a hit is near to the query; at the second click hides it. */
  async #why(hit: Hit): Promise<void> {
    const { app } = this;
    const { listed, query, why } = app.state;
    if (why?.row === hit.row) return app.change({ why: null });
    if (listed?.kind !== 'hits') return;
    // The query is a text, unless the hits are those of a row.
    const from = listed.query === null ? { text: query } : { other: listed.query.row };
    const answer = await app.attempt(() => app.source.ask('why', { ...from, row: hit.row }));
    if (answer !== undefined) app.change({ why: { row: hit.row, answer } });
  }

  /** Shows all rows, without query and filter. */
  clear(): void {
    this.app.change({ query: '', filter: '' });
    this.#only = null;
    void this.list();
  }

  /** Panel and map; the element of the map stays the same at each drawing. */
  view(): TemplateResult {
    return html`<main class="explore">
      <section class="panel" aria-label="Search and rows">
        ${this.#form()} ${this.#listed()}
      </section>
      <section class="plane" aria-label="Map">
        ${this.pane.element} ${this.#tools()} ${this.#legend()}
      </section>
    </main>`;
  }

  /** The fields of query and filter. Enter searches, or lists rows where there is no query. */
  #form(): TemplateResult {
    const { queryKind, query, filter, about, isBusy } = this.app.state;
    const { isHeld } = this.app.source;
    const hints = { text: 'some words', id: 'an id', vector: '0.12, −0.4, …' };
    const names = about?.columns.map(({ name }) => name) ?? [];
    return html`<form
      class="search"
      @submit=${(event: Event) => {
        event.preventDefault();
        void this.search();
      }}
    >
      ${this.#kinds()}
      <div class="field">
        <input
          id="query"
          type="search"
          dir="auto"
          autocomplete="off"
          spellcheck="false"
          aria-label=${queryKind === 'id' ? 'Id of the row' : `Query by ${queryKind}`}
          placeholder=${hints[queryKind]}
          .value=${query}
          @input=${(event: Event) => this.app.change({ query: typedIn(event) })}
        />
        <button class="main" ?disabled=${isBusy}>Search</button>
      </div>
      <div class="field">
        <input
          id="filter"
          type="search"
          autocomplete="off"
          spellcheck="false"
          aria-label="Filter"
          placeholder=${isHeld ? 'Only rows with these words' : filterHint(names)}
          .value=${filter}
          @input=${(event: Event) => this.app.change({ filter: typedIn(event) })}
          @keydown=${(event: KeyboardEvent) => {
            if (event.key !== 'Enter') return;
            event.preventDefault();
            void this.#filter();
          }}
        />
        <button type="button" @click=${() => void this.list()}>Filter</button>
      </div>
    </form>`;
  }

  /** Buttons for what a query can be: a text, the id of a row, a vector. */
  #kinds(): TemplateResult {
    const { queryKind, about } = this.app.state;
    const kinds: [QueryKind, string][] = [
      ...(about?.hasText ? [['text', 'Text'] as [QueryKind, string]] : []),
      ['id', 'Near a row'],
      ...(about?.dimensions ? [['vector', 'Vector'] as [QueryKind, string]] : []),
    ];
    return html`<div class="kinds" role="radiogroup" aria-label="What to search by">
        ${kinds.map(
          ([kind, name]) => html`<label
            ><input
              type="radio"
              name="kind"
              .checked=${kind === queryKind}
              @change=${() => this.app.change({ queryKind: kind })}
            /><span>${name}</span></label
          >`,
        )}
      </div>`;
  }

  /** The list below the fields: a line that counts it, and its rows or hits. */
  #listed(): TemplateResult | typeof nothing {
    const { listed, isBusy, status, about } = this.app.state;
    if (isBusy && status.label !== '') {
      return html`<p class="found" role="status">${status.label} …</p>`;
    }
    if (listed === null) return nothing;
    if (listed.kind === 'hits') return this.#hits(listed);
    const { cards, total, kind } = listed;
    const more = total > cards.length ? `, the first ${cards.length} listed` : '';
    const what = { all: '', filtered: ' match', lasso: ' in the lasso' }[kind];
    return html`<div class="found">
        <h2><span role="status">${counted(total, 'row')}${what}${more}</span></h2>
        ${kind === 'all' ? nothing : this.#showAll()}
      </div>
      <div class="list" tabindex="0" role="region" aria-label="Rows">
        ${rowsTable(cards, about, (row) => void this.near(row))}
      </div>`;
  }

  #showAll(): TemplateResult {
    return html`<button class="quiet" @click=${() => this.clear()}>Show all</button>`;
  }

  /** The hits of a search, with what their similarity is and how long it took. */
  #hits(found: SearchAnswer): TemplateResult {
    const { hits, query, compared, milliseconds } = found;
    const { about, why } = this.app.state;
    const of = query === null ? '' : html` near <b dir="auto">${query.id}</b>`;
    const actions = {
      near: (row: number) => void this.near(row),
      why: this.app.source.isHeld ? null : (hit: Hit) => void this.#why(hit),
    };
    return html`<div class="found">
        <h2><span role="status">${counted(hits.length, 'row')}${of}</span></h2>
        ${this.#showAll()}
        <span class="note">${compared} · ${milliseconds.toFixed(1)} ms</span>
      </div>
      <ol class="list hits" tabindex="0" aria-label="Rows found, nearest first">
        ${hits.map((hit) => hitItem(hit, about?.bits ?? 0, why, actions))}
      </ol>`;
  }

  /** The buttons over the map, and how far the map is while it is made. */
  #tools(): TemplateResult {
    const { isLasso, map, status } = this.app.state;
    const label = status.label || 'drawing the map';
    const { control } = this.pane;
    return html`<div class="tools" role="toolbar" aria-label="Map">
        <button
          aria-pressed=${isLasso}
          title="Draw around rows to list them (or Shift and drag)"
          @click=${() => this.app.change({ isLasso: !isLasso })}
        >
          Lasso
        </button>
        <button aria-label="Zoom in" @click=${() => control.zoom(1.6)}>+</button>
        <button aria-label="Zoom out" @click=${() => control.zoom(1 / 1.6)}>−</button>
        <button @click=${() => control.reset()}>All</button>
      </div>
      ${map === null ? makingView({ ...status, label }) : nothing}`;
  }

  /** The legend, and the choice of the column of the colours; on a page in one file no choice. */
  #legend(): TemplateResult | typeof nothing {
    const { about, colour, map } = this.app.state;
    if (map === null) return nothing;
    const { entries, range } = this.pane.legend;
    const { isHeld } = this.app.source;
    return html`<details class="legend" ?open=${!isPhone}>
      <summary>Colours</summary>
      ${
        isHeld
          ? html`<p class="note">clusters</p>`
          : html`<select
            aria-label="Colour by"
            @change=${(event: Event) => void this.colour((event.target as HTMLSelectElement).value)}
          >
            <option value="" ?selected=${colour === ''}>clusters</option>
            ${about?.columns.map(
              ({ name }) =>
                html`<option value=${name} ?selected=${colour === name}>${name}</option>`,
            )}
          </select>`
      }
      ${
        range === null
          ? html`<ul>
            ${entries.map(
              (entry, i) => html`<li>
                <button aria-pressed=${this.#only === i} @click=${() => this.#toggle(i)}>
                  <i .style=${`background: ${entry.colour}`}></i>
                  <span dir="auto">${entry.name}</span>
                  <small>${grouped(entry.size)}</small>
                </button>
              </li>`,
            )}
          </ul>`
          : html`<div class="range">
              <span>${short(range[0])}</span><i></i><span>${short(range[1])}</span>
            </div>`
      }
    </details>`;
  }
}

/** Whether the legend begins folded: on a narrow page, as a phone's, it would cover the map. */
const isPhone = matchMedia('(max-width: 760px)').matches;

const typedIn = (event: Event) => (event.target as HTMLInputElement).value;

/** How far the work is that the view waits for. */
export const makingView = ({ label, share }: Status) => html`<div class="making" role="status">
  <p dir="auto">${label} …</p>
  <progress aria-label="Progress" .value=${share ?? 0}></progress>
</div>`;

/** An example of a filter, with the name of the first column. */
function filterHint(names: readonly string[]): string {
  return names.length === 0 ? 'no columns to filter by' : `Filter: ${names[0]} = 'value'`;
}
