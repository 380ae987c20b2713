/**
 * The first view: a panel to search, filter and list rows, and the map of all rows next to it. What
 * is found, filtered or drawn around on one of them shows on the other.
 */

import { html, nothing, type TemplateResult } from 'lit-html';
import { type App, type Link, type Listed, type QueryKind, setLink } from './app';
import { counted, grouped, short } from './format';
import { hitItem, rowsTable } from './lists';
import { MapPane } from './map-pane';
import type { Hit, MapAnswer, SearchAnswer } from './messages';
import { uint32Of } from './packed';

/** Rows and hits that are listed. */
const LISTED = 100;
const HITS = 25;

export class MapView {
  readonly pane: MapPane;
  /** The entry of the legend that alone is shown. */
  #only: number | null = null;

  constructor(readonly app: App) {
    this.pane = new MapPane(app, {
      picked: (row) => void this.near(row),
      lassoed: (rows) => void this.lasso(rows),
      moved: (at) => app.state.map?.isDraft || setLink({ at }),
    });
  }

  /** Begins with what a link says. */
  async start(link: Link): Promise<void> {
    const { app } = this;
    const { about } = app.state;
    const kinds: QueryKind[] = ['text', 'id', 'vector'];
    const usual = about?.hasText ? 'text' : 'id';
    const queryKind = kinds.find((kind) => kind === link.kind) ?? usual;
    app.change({ queryKind, query: link.q ?? '', filter: link.filter ?? '' });
    await this.list();
    if (app.state.query !== '') await this.search();
    const map = await app.attempt(() => app.source.ask('map', { mayBeDraft: true }));
    if (map === undefined) return;
    this.#take(map, link.at);
    if (link.colour) await this.colour(link.colour);
    if (map.isDraft) await this.#replaceDraft(link.at);
  }

  async #replaceDraft(at: string | undefined): Promise<void> {
    const { app } = this;
    let isOver = false;
    void app.follow(() => isOver);
    const map = await app.attempt(() => app.source.ask('map', { mayBeDraft: false }));
    isOver = true;
    if (map !== undefined) this.#take(map, at);
  }

  #take(map: MapAnswer, at: string | undefined): void {
    this.#only = null;
    this.app.change({ map });
    this.pane.show(map, map.isDraft ? undefined : at);
    this.#mark();
  }

  /** Lists the rows that the filter lets through. */
  async list(): Promise<void> {
    const { app } = this;
    const { filter } = app.state;
    const asked = { filter, first: 0, count: LISTED };
    const answer = await app.attempt(() => app.source.ask('rows', asked));
    if (answer === undefined) return;
    setLink({ filter, q: '' });
    this.#show({ kind: 'rows', cards: answer.cards, total: answer.total });
    this.pane.only(answer.matching === null ? null : { rows: uint32Of(answer.matching) });
  }

  /** Searches for what is typed. */
  async search(): Promise<void> {
    const { query, queryKind } = this.app.state;
    if (query.trim() === '') return this.list();
    if (queryKind !== 'vector') return this.#find({ [queryKind]: query });
    const vector = query
      .split(/[\s,;[\]]+/)
      .filter((word) => word !== '')
      .map(Number);
    await this.#find({ vector });
  }

  /** Searches for what is near a row. */
  async near(row: number): Promise<void> {
    await this.#find({ row });
  }

  async #find(asked: {
    text?: string;
    id?: string;
    row?: number;
    vector?: number[];
  }): Promise<void> {
    const { app } = this;
    const { filter, query, queryKind } = app.state;
    app.change({ isBusy: true });
    const found = await app.attempt(() => app.source.ask('search', { ...asked, k: HITS, filter }));
    app.change({ isBusy: false });
    if (found === undefined) return;
    const own = found.query;
    if (own === null) setLink({ q: query, kind: queryKind, filter });
    else {
      setLink({ q: own.id, kind: 'id', filter });
      app.change({ query: own.id, queryKind: 'id' });
    }
    this.#show({ kind: 'hits', ...found });
    this.pane.showMarked();
  }

  async lasso(rows: readonly number[]): Promise<void> {
    const { app } = this;
    const cards = await app.attempt(() => app.source.ask('cards', { rows: rows.slice(0, LISTED) }));
    app.change({ isLasso: false });
    if (cards === undefined) return;
    this.#show({ kind: 'lasso', cards, total: rows.length });
    this.pane.only(rows.length === 0 ? null : { rows: Uint32Array.from(rows) });
  }

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

  #toggle(entry: number): void {
    this.#only = this.#only === entry ? null : entry;
    this.pane.only(this.#only === null ? null : { colour: this.#only });
    this.app.redraw();
  }

  async #why(hit: Hit): Promise<void> {
    const { app } = this;
    const { listed, query, why } = app.state;
    if (why?.row === hit.row) return app.change({ why: null });
    if (listed?.kind !== 'hits') return;
    const from = listed.query === null ? { text: query } : { other: listed.query.row };
    const answer = await app.attempt(() => app.source.ask('why', { ...from, row: hit.row }));
    if (answer !== undefined) app.change({ why: { row: hit.row, answer } });
  }

  clear(): void {
    this.app.change({ query: '', filter: '' });
    this.#only = null;
    void this.list();
  }

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

  #form(): TemplateResult {
    const { queryKind, query, filter, about, isBusy } = this.app.state;
    const isHeld = this.app.source.held !== null;
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
            void (query.trim() === '' ? this.list() : this.search());
          }}
        />
        <button type="button" @click=${() => void this.list()}>Filter</button>
      </div>
    </form>`;
  }

  /** What a query can be. */
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

  #listed(): TemplateResult | typeof nothing {
    const { listed } = this.app.state;
    if (listed === null) return nothing;
    if (listed.kind === 'hits') return this.#hits(listed);
    const { cards, total, kind } = listed;
    const more = total > cards.length ? `, the first ${cards.length} listed` : '';
    const what = kind === 'lasso' ? ' in the lasso' : this.app.state.filter ? ' match' : '';
    return html`<div class="found">
        <h2><span role="status">${counted(total, 'row')}${what}${more}</span></h2>
        ${
          kind === 'lasso' || this.app.state.filter
            ? html`<button class="quiet" @click=${() => this.clear()}>Show all</button>`
            : nothing
        }
      </div>
      <div class="list" tabindex="0" role="region" aria-label="Rows">
        ${rowsTable(cards, this.app.state.about, (row) => void this.near(row))}
      </div>`;
  }

  #hits(found: SearchAnswer): TemplateResult {
    const { hits, query, isExact, measure, milliseconds } = found;
    const of = query === null ? '' : html` near <b dir="auto">${query.id}</b>`;
    const isHeld = this.app.source.held !== null;
    const actions = {
      near: (row: number) => void this.near(row),
      why: isHeld ? null : (hit: Hit) => void this.#why(hit),
    };
    return html`<div class="found">
        <h2><span role="status">${counted(hits.length, 'row')}${of}</span></h2>
        <button class="quiet" @click=${() => this.clear()}>Show all</button>
        <span class="note">
          ${isExact ? 'exact' : 'estimated'} ${measure} ·
          ${milliseconds.toFixed(1)} ms
        </span>
      </div>
      <ol class="list hits" tabindex="0" aria-label="Rows found, nearest first">
        ${hits.map((hit) => hitItem(hit, found, this.app.state.why, actions))}
      </ol>`;
  }

  #tools(): TemplateResult {
    const { isLasso, map, status } = this.app.state;
    const { label, share } = { ...status, label: status.label || 'drawing the map' };
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
      ${map === null ? making(`${label} …`) : map.isDraft ? draft(label, share) : nothing}`;
  }

  #legend(): TemplateResult | typeof nothing {
    const { about, colour, map } = this.app.state;
    if (map === null || map.isDraft) return nothing;
    const { entries, range } = this.pane.legend;
    const isHeld = this.app.source.held !== null;
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

/** On a phone the legend would cover the map. */
const isPhone = matchMedia('(max-width: 760px)').matches;

const typedIn = (event: Event) => (event.target as HTMLInputElement).value;

const making = (what: string) => html`<p class="making" role="status">${what}</p>`;

/** What is shown is not the map yet, and how far that is. */
const draft = (label: string, share: number | null) => html`<div class="draft">
  <span role="status">${`A draft: ${label} …`}</span>
  <progress aria-label="Progress" .value=${share ?? 0}></progress>
</div>`;

/** An example of a filter, by a column that is there. */
function filterHint(names: readonly string[]): string {
  return names.length === 0 ? 'no columns to filter by' : `Filter: ${names[0]} = 'value'`;
}
