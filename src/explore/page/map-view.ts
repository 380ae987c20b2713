/**
 * The first view: a panel to search, filter and list rows, next to the map of all rows. Both show
 * the same selection: rows that were found, that meet the filter, or that the lasso holds.
 */

import { html, nothing, type TemplateResult } from 'lit-html';
import {
  type Card,
  counted,
  grouped,
  type Hit,
  MAX_CARDS,
  type Status,
  shareText,
} from '../messages';
import { MapPane } from './map-pane';
import type { Listed, QueryKind, Store } from './store';

/** Hits of a search, and values of other columns that a row is listed with, at most. */
const HITS = 25;
const VALUES = 3;

/** The view; `start` is called once, when `about` is known. */
export class MapView {
  readonly #pane: MapPane;

  constructor(private readonly store: Store) {
    this.#pane = new MapPane(store, {
      picked: (row) => void (store.source.isHeld ? this.#lasso([row]) : this.#find({ row })),
      lassoed: (rows) => void this.#lasso(rows),
    });
  }

  async start(): Promise<void> {
    const { store } = this;
    store.change({ queryKind: store.state.about?.hasText ? 'text' : 'id' });
    await this.#list();
    const map = await store.attemptSlowly(() => store.source.ask('map', null));
    if (map === undefined) return;
    store.change({ map });
    this.#pane.show(map);
    this.#mark();
  }

  /** Lists the rows that meet the filter, in place of hits; the other points fade. */
  async #list(): Promise<void> {
    const { store } = this;
    const { filter } = store.state;
    const answer = await store.attempt(() => store.source.ask('rows', { filter }));
    if (answer === undefined) return this.#showNothing();
    const { cards, total, matching } = answer;
    this.#show({ kind: matching === null ? 'all' : 'filtered', cards, total });
    this.#pane.only(matching);
  }

  /** After a question that failed: what was listed before must not pass for its answer. */
  #showNothing(): void {
    this.#show(null);
    this.#pane.only(null);
  }

  /** Lists rows or hits, and marks hits on the map. */
  #show(listed: Listed | null): void {
    this.store.change({ listed, cluster: null });
    this.#mark();
  }

  #mark(): void {
    const { listed } = this.store.state;
    if (listed?.kind === 'hits') this.#pane.mark(listed.hits, listed.query);
    else this.#pane.mark([], null);
  }

  /** Searches for what is typed; lists rows if that is nothing. */
  async #search(): Promise<void> {
    const { query, queryKind } = this.store.state;
    await (query.trim() === '' ? this.#list() : this.#find({ [queryKind]: query }));
  }

  /** Searches among the rows that meet the filter; lists and marks the hits. */
  async #find(asked: { text?: string; id?: string; row?: number }): Promise<void> {
    const { store } = this;
    const question = { ...asked, k: HITS, filter: store.state.filter };
    store.change({ isBusy: true, suggested: [] });
    const found = await store.attemptSlowly(() => store.source.ask('search', question));
    store.change({ isBusy: false });
    if (found === undefined) return this.#showNothing();
    // What was shown before, as the rows of a lasso, must not pass for those that were searched.
    this.#pane.only(found.matching);
    // A search for a row is shown as one by its id, also after a click on the map.
    if (found.query !== null) store.change({ query: found.query.id, queryKind: 'id' });
    this.#show({ kind: 'hits', ...found });
    this.#pane.showMarked();
  }

  /** Lists rows within a lasso; the other points fade. */
  async #lasso(rows: readonly number[]): Promise<void> {
    const { store } = this;
    const asked = { rows: rows.slice(0, MAX_CARDS) };
    const cards = await store.attempt(() => store.source.ask('cards', asked));
    store.change({ isLasso: false });
    if (cards === undefined) return;
    this.#show({ kind: 'lasso', cards, total: rows.length });
    this.#pane.only(rows.length === 0 ? null : rows);
  }

  /** Shows the points of one cluster strongly; at the second click all again. */
  #toggle(cluster: number): void {
    const only = this.store.state.cluster === cluster ? null : cluster;
    this.store.change({ cluster: only });
    this.#pane.only(only);
  }

  /** Panel and map; the element of the map stays the same at each drawing. */
  view(): TemplateResult {
    return html`<main class="explore">
      <section class="panel" aria-label="Search and rows">
        ${this.#form()} ${this.#listed()}
      </section>
      ${this.#pane.element}
      <section class="side" aria-label="Clusters">${this.#tools()} ${this.#legend()}</section>
    </main>`;
  }

  /** What is typed as a query; ids like it are suggested. */
  async #typed(query: string): Promise<void> {
    const { store } = this;
    store.change({ query });
    const isId = store.state.queryKind === 'id' && query.trim() !== '';
    const suggested = isId ? await store.source.ask('ids', { text: query }).catch(() => []) : [];
    if (store.state.query === query) store.change({ suggested });
  }

  /** The fields of query and filter. Enter searches, or lists rows where there is no query. */
  #form(): TemplateResult {
    const { filter, about } = this.store.state;
    const { isHeld } = this.store.source;
    const [column] = about?.columns ?? [];
    const hint = column === undefined ? 'no columns to filter by' : `Filter: ${column} = 'value'`;
    const isFiltered = (event: KeyboardEvent) => {
      if (event.key !== 'Enter') return;
      event.preventDefault();
      void (this.store.state.listed?.kind === 'hits' ? this.#search() : this.#list());
    };
    return html`<form
      class="search"
      @submit=${(event: Event) => {
        event.preventDefault();
        void this.#search();
      }}
    >
      ${isHeld ? html`<p class="note">To search, use halfspace explore</p>` : this.#query()}
      <div class="field">
        <input
          id="filter"
          type="search"
          autocomplete="off"
          spellcheck="false"
          aria-label="Filter"
          placeholder=${isHeld ? 'Only rows with these words' : hint}
          .value=${filter}
          @input=${(event: Event) => this.store.change({ filter: typedIn(event) })}
          @keydown=${isFiltered}
        />
        <button type="button" @click=${() => void this.#list()}>Filter</button>
      </div>
    </form>`;
  }

  /** What a query is, and its field. */
  #query(): TemplateResult {
    const { queryKind, query, suggested, isBusy } = this.store.state;
    return html`${this.#kinds()}
      <div class="field">
        <input
          id="query"
          type="search"
          list="ids"
          dir="auto"
          autocomplete="off"
          spellcheck="false"
          aria-label=${queryKind === 'id' ? 'Id of the row' : 'Query by text'}
          placeholder=${queryKind === 'id' ? 'an id' : 'some words'}
          .value=${query}
          @input=${(event: Event) => void this.#typed(typedIn(event))}
        />
        <datalist id="ids">${suggested.map((id) => html`<option value=${id}></option>`)}</datalist>
        <button class="main" ?disabled=${isBusy}>Search</button>
      </div>`;
  }

  /** Buttons for what a query can be: a text, or the id of a row. */
  #kinds(): TemplateResult | typeof nothing {
    const { queryKind, about } = this.store.state;
    if (!about?.hasText) return nothing;
    const kind = (value: QueryKind, name: string) => html`<label
      ><input
        type="radio"
        name="kind"
        .checked=${value === queryKind}
        @change=${() => this.store.change({ queryKind: value, suggested: [] })}
      /><span>${name}</span></label
    >`;
    return html`<div class="kinds" role="radiogroup" aria-label="What to search by">
      ${kind('text', 'Text')} ${kind('id', 'Near a row')}
    </div>`;
  }

  /** The list below the fields: a line that says what it is, and its rows or hits. */
  #listed(): TemplateResult | typeof nothing {
    const { listed, isBusy, status } = this.store.state;
    if (isBusy) return makingView(status, 'searching');
    if (listed === null) return nothing;
    const rows = listed.kind === 'hits' ? listed.hits : listed.cards;
    return html`<div class="found">
        <h2><span role="status">${titleOf(listed)}</span></h2>
        ${
          listed.kind === 'all'
            ? nothing
            : html`<button class="quiet" @click=${() => this.#clear()}>Show all</button>`
        }
        ${listed.kind === 'hits' ? html`<span class="note">${listed.compared}</span>` : nothing}
      </div>
      <ol class="list" tabindex="0" aria-label="Rows">
        ${rows.map((row) => this.#item(row))}
      </ol>`;
  }

  #clear(): void {
    this.store.change({ query: '', filter: '' });
    void this.#list();
  }

  /** A row as an item of the list; of a hit with its similarity and distance. */
  #item(row: Card | Hit): TemplateResult {
    const bits = this.store.state.about?.bits ?? 0;
    const notes = row.values
      .slice(0, VALUES)
      .map(([name, value]) => html`<span dir="auto">${name}: ${value}</span>`);
    const [similarity, distance] = 'similarity' in row ? [row.similarity, row.distance] : [];
    if (typeof distance === 'number') notes.push(html`<span>${distance} of ${bits} bits</span>`);
    return html`<li>
      <div class="head">
        ${
          this.store.source.isHeld
            ? html`<b dir="auto">${row.id}</b>`
            : html`<button
                class="link"
                dir="auto"
                title="Find what is near"
                @click=${() => void this.#find({ row: row.row })}
              >
                ${row.id}
              </button>`
        }
        ${
          similarity === undefined
            ? nothing
            : html`<span class="similarity">${shareText(similarity)}</span>`
        }
      </div>
      ${row.text === null ? nothing : html`<p class="text" dir="auto">${row.text}</p>`}
      <p class="note">${notes}</p>
    </li>`;
  }

  #tools(): TemplateResult {
    const { isLasso } = this.store.state;
    const { control } = this.#pane;
    return html`<div class="tools" role="toolbar" aria-label="Map">
      <button
        aria-pressed=${isLasso}
        title="Draw around rows to list them (or Shift and drag)"
        @click=${() => this.store.change({ isLasso: !isLasso })}
      >
        Lasso
      </button>
      <button aria-label="Zoom in" @click=${() => control.zoom(1.6)}>+</button>
      <button aria-label="Zoom out" @click=${() => control.zoom(1 / 1.6)}>−</button>
      <button @click=${() => control.reset()}>All</button>
    </div>`;
  }

  /** The clusters by their colours; a click shows the points of one strongly. */
  #legend(): TemplateResult | typeof nothing {
    const { cluster, map, isBusy, status } = this.store.state;
    if (map === null) return isBusy ? nothing : makingView(status, 'drawing the map');
    const { palette } = this.#pane;
    return html`<ul class="legend">
      ${map.clusters.map(
        ({ name, size }, i) => html`<li>
          <button aria-pressed=${cluster === i} title=${name} @click=${() => this.#toggle(i)}>
            <i .style=${`background: rgb(${palette[i].join(' ')})`}></i>
            <span dir="auto">${name}</span>
            <small>${grouped(size)}</small>
          </button>
        </li>`,
      )}
    </ul>`;
  }
}

const typedIn = (event: Event) => (event.target as HTMLInputElement).value;

function titleOf(listed: Listed): TemplateResult {
  if (listed.kind === 'hits') {
    const { hits, query } = listed;
    const of = query === null ? nothing : html` near <b dir="auto">${query.id}</b>`;
    return html`${counted(hits.length, 'row')}${of}`;
  }
  const { cards, total, kind } = listed;
  const what = { all: '', filtered: ' match', lasso: ' in the lasso' }[kind];
  const more = total > cards.length ? `, the first ${cards.length} listed` : '';
  return html`${counted(total, 'row')}${what}${more}`;
}

/** How far the work is that the view waits for; `usual` is its name where the server has none. */
export const makingView = ({ label, share }: Status, usual: string) => html`<div
  class="making"
  role="status"
>
  <p dir="auto">${label || usual} …</p>
  <progress aria-label="Progress" .value=${share ?? 0}></progress>
</div>`;
