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
import type { Listed, Store } from './store';

/** Values of other columns that a row is listed with, at most. */
const VALUES = 3;

/** The view; `start` is called once, when `about` is known. */
export class MapView {
  readonly #pane: MapPane;

  constructor(private readonly store: Store) {
    this.#pane = new MapPane(store, {
      picked: (row) => void (store.source.isHeld ? this.#lasso([row]) : this.#find(row)),
      lassoed: (rows) => void this.#lasso(rows),
    });
  }

  async start(): Promise<void> {
    const { store } = this;
    await this.#find();
    const map = await store.attemptSlowly(() => store.source.ask('map', null));
    if (map === undefined) return;
    store.change({ map });
    this.#pane.show(map);
    this.#mark();
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
    const isSearch = listed !== null && listed.compared !== null;
    this.#pane.mark(isSearch ? listed.cards : [], listed?.near ?? null);
  }

  /** Finds what is near a row, else near what is typed, else all rows that meet the filter. */
  async #find(row?: number): Promise<void> {
    const { store } = this;
    const { query, filter } = store.state;
    store.change({ isBusy: true, suggested: [] });
    const asked = { query, row, filter };
    const found = await store.attemptSlowly(() => store.source.ask('find', asked));
    store.change({ isBusy: false });
    if (found === undefined) return this.#showNothing();
    // What was shown before, as the rows of a lasso, must not pass for those that were searched.
    this.#pane.only(found.matching);
    // A click on the map is shown as a query too.
    if (found.near !== null) store.change({ query: found.near.id });
    this.#show({ ...found, isLasso: false });
    this.#pane.showMarked();
  }

  /** Lists rows within a lasso; the other points fade. */
  async #lasso(rows: readonly number[]): Promise<void> {
    const { store } = this;
    const asked = { rows: rows.slice(0, MAX_CARDS) };
    const cards = await store.attempt(() => store.source.ask('cards', asked));
    store.change({ isLasso: false });
    if (cards === undefined) return;
    const base = { near: null, compared: null, matching: null };
    this.#show({ ...base, cards, total: rows.length, isLasso: true });
    this.#pane.only(rows.length === 0 ? null : rows);
  }

  /** Shows the points of one cluster strongly; at the second click all again. */
  #toggle(cluster: number): void {
    const { map, cluster: shown } = this.store.state;
    if (map === null) return;
    const isOff = cluster === shown;
    this.store.change({ cluster: isOff ? null : cluster });
    this.#pane.only(isOff ? null : map.rows.filter((_, i) => map.labels[i] === cluster));
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
    const asked = query.trim();
    const suggested =
      asked === '' ? [] : await store.source.ask('ids', { text: asked }).catch(() => []);
    if (store.state.query === query) store.change({ suggested });
  }

  /** The fields of query and filter. Enter finds by both. */
  #form(): TemplateResult {
    const { filter, about, isBusy } = this.store.state;
    const { isHeld } = this.store.source;
    const [column] = about?.columns ?? [];
    const hint = column === undefined ? 'no columns to filter by' : `Filter: ${column} = 'value'`;
    return html`<form
      class="search"
      @submit=${(event: Event) => {
        event.preventDefault();
        void this.#find();
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
        />
        <button class="main" ?disabled=${isBusy}>${isHeld ? 'Filter' : 'Search'}</button>
      </div>
    </form>`;
  }

  #query(): TemplateResult {
    const { query, suggested } = this.store.state;
    return html`<div class="field">
      <input
        id="query"
        type="search"
        list="ids"
        dir="auto"
        autocomplete="off"
        spellcheck="false"
        aria-label="Query: the id of a row, or words"
        placeholder="The id of a row, or words"
        .value=${query}
        @input=${(event: Event) => void this.#typed(typedIn(event))}
      />
      <datalist id="ids">${suggested.map((id) => html`<option value=${id}></option>`)}</datalist>
    </div>`;
  }

  /** The list below the fields: a line that says what it is, and its rows or hits. */
  #listed(): TemplateResult | typeof nothing {
    const { listed, isBusy, status } = this.store.state;
    if (isBusy) return makingView(status, 'searching');
    if (listed === null) return nothing;
    const { cards, compared, matching, isLasso } = listed;
    const isAll = compared === null && matching === null && !isLasso;
    return html`<div class="found">
        <h2><span role="status">${titleOf(listed)}</span></h2>
        ${
          isAll
            ? nothing
            : html`<button class="quiet" @click=${() => this.#clear()}>Show all</button>`
        }
        ${compared === null ? nothing : html`<span class="note">${compared}</span>`}
      </div>
      <ol class="list" tabindex="0" aria-label="Rows">
        ${cards.map((row) => this.#item(row))}
      </ol>`;
  }

  #clear(): void {
    this.store.change({ query: '', filter: '' });
    void this.#find();
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
                @click=${() => void this.#find(row.row)}
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

function titleOf({ cards, near, compared, total, matching, isLasso }: Listed): TemplateResult {
  if (compared !== null) {
    const of = near === null ? nothing : html` near <b dir="auto">${near.id}</b>`;
    return html`${counted(cards.length, 'row')}${of}`;
  }
  const what = isLasso ? ' in the lasso' : matching === null ? '' : ' match';
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
