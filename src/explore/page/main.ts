/**
 * The entry of the page: takes what a page in one file holds, or asks the server that it came from,
 * and shows the view that the address names. The build makes one script of it.
 */

import { html, nothing, render, type TemplateResult } from 'lit-html';
import { counted, type Held } from '../messages';
import { MapView, makingView } from './map-view';
import { ReviewView } from './review-view';
import { Store, sourceOf, type View } from './store';

const root = document.getElementById('page') as HTMLElement;
/** Its logo and title are in the HTML, so that they are painted before this script has run. */
const header = root.querySelector('header') as HTMLElement;
/** JSON in a page in one file (server/server.ts); undefined on the page of a server. */
const heldText = document.getElementById('held')?.textContent;
/** What the page holds; null where a server answers. */
const held: Held | null = heldText ? JSON.parse(heldText) : null;
/** Header and view are drawn apart, since the header is there before the view. */
const store = new Store(sourceOf(held), () => {
  render(bar(), header);
  render(body(), root);
});
const map = new MapView(store);
const review = new ReviewView(store);

/** The views of this page: a page in one file has no plan to review. */
const VIEWS: readonly (readonly [view: View, title: string])[] = [
  ['map', 'Map'],
  ...(held === null ? [['review', 'Review'] as const] : []),
];

/** Shows a view, and asks for what it needs. The address keeps it when the page is loaded again. */
function open(view: View): void {
  store.change({ view, error: null });
  history.replaceState(null, '', view === 'map' ? '#' : `#${view}`);
  if (view === 'review') void review.start();
}

/** The rest of the header: how many rows and bits there are, and buttons for the views. */
function bar(): TemplateResult {
  const { about, view } = store.state;
  const buttons = VIEWS.map(
    ([name, title]) => html`<button
      aria-current=${name === view ? 'page' : nothing}
      @click=${() => open(name)}
    >
      ${title}
    </button>`,
  );
  return html`<span class="note">
      ${about === null ? nothing : `${counted(about.rows, 'row')} · ${about.bits} bits`}
    </span>
    ${VIEWS.length < 2 ? nothing : html`<nav aria-label="Views">${buttons}</nav>`}`;
}

/** The error, if there is one, above the view; how far the server is, until it has opened. */
function body(): TemplateResult {
  const { about, error, status, view } = store.state;
  if (about === null && error !== null) {
    return html`<main><p class="making" role="alert">${error}</p></main>`;
  }
  if (about === null) return html`<main>${makingView(status, 'opening')}</main>`;
  return html`${error === null ? nothing : html`<p class="error" role="alert">${error}</p>`}
  ${view === 'review' ? review.view() : map.view()}`;
}

/** Shows the view of the address when the server is ready; a page in one file is so at once. */
async function start(): Promise<void> {
  const about = await store.attempt(() => store.source.ask('about', null));
  if (about === undefined) return;
  store.change({ about });
  if (location.hash === '#review' && held === null) open('review');
  if (held === null || held.map !== null) await map.start();
}

void start();
