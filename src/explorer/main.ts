/**
 * The entry of the page: takes what a page in one file holds, or asks the server that it came from,
 * and shows the view that the address names. The build makes one script of it.
 */

import { html, nothing, render, type TemplateResult } from 'lit-html';
import { App, linkOf, setLink, type View } from './app';
import { FiguresView } from './figures-view';
import { counted } from './format';
import { MapView } from './map-view';
import type { Held, Status } from './messages';
import { ReviewView } from './review-view';
import { sourceOf } from './source';

const root = document.getElementById('page') as HTMLElement;
/** Its logo and title are in the HTML, so that they are painted before this script has run. */
const header = root.querySelector('header') as HTMLElement;
/** JSON in a page in one file (cli/explore/page-file.ts); undefined on the page of a server. */
const heldText = document.getElementById('held')?.textContent;
/** What the page holds; null where a server answers. */
const held: Held | null = heldText ? JSON.parse(heldText) : null;
/** The page; header and view are drawn apart, since the header is there before the view. */
const app = new App(sourceOf(held), () => {
  render(bar(), header);
  render(view(), root);
});
const map = new MapView(app);
const review = new ReviewView(app);
const figures = new FiguresView(app);

/** All views, in the order of their buttons. */
const VIEWS: readonly (readonly [view: View, name: string])[] = [
  ['map', 'Map'],
  ['review', 'Review'],
  ['figures', 'Figures'],
];

/** The views that this page has: all with a server; in one file, those of what it holds. */
function views() {
  if (held === null) return VIEWS;
  if (held.review) return VIEWS.filter(([name]) => name === 'review');
  return VIEWS.filter(([name]) => name === 'figures' || (name === 'map' && held.map !== null));
}

/** Shows a view, and asks for what it needs. */
function open(view: View): void {
  app.change({ view, error: null });
  setLink({ view: view === 'map' ? '' : view });
  if (view === 'review') void review.start();
  if (view === 'figures') void figures.start();
}

/** The rest of the header: how many rows and bits there are, and buttons for the views. */
function bar(): TemplateResult {
  const { about, view } = app.state;
  const shown = views();
  return html`<span class="note">
      ${about === null ? nothing : `${counted(about.rows, 'row')} · ${about.bits} bits`}
    </span>
    ${
      shown.length < 2
        ? nothing
        : html`<nav aria-label="Views">
          ${shown.map(
            ([name, title]) => html`<button
              aria-current=${name === view ? 'page' : nothing}
              @click=${() => open(name)}
            >
              ${title}
            </button>`,
          )}
        </nav>`
    }`;
}

/** The error, if there is one, above the view. */
function view(): TemplateResult {
  const { error } = app.state;
  return html`${error === null ? nothing : html`<p class="error" role="alert">${error}</p>`}
  ${body()}`;
}

/** The view that is open; how far the server is, until it has said what there is. */
function body(): TemplateResult {
  const { about, status, view } = app.state;
  if (about === null && held === null) return html`<main>${opening(status)}</main>`;
  if (view === 'review') return review.view();
  if (view === 'figures') return figures.view();
  return map.view();
}

/** How far the opening of an index, or the hashing of a file, is. */
function opening({ phase, label, share }: Status): TemplateResult {
  if (phase === 'failed') return html`<p class="making" role="alert">${label}</p>`;
  return html`<div class="making" role="status">
    <p dir="auto">${`${label || 'opening'} …`}</p>
    <progress aria-label="Progress" .value=${share ?? 0}></progress>
  </div>`;
}

/** Shows the first view: at once on a page in one file, else when the server is ready. */
async function start(): Promise<void> {
  const link = linkOf(location.hash);
  if (held !== null && held.map === null) {
    app.change({ about: held.about });
    open(held.review ? 'review' : 'figures');
    return;
  }
  app.redraw();
  // A page in one file with a map comes here too: what it holds is ready at once.
  const { phase } = await app.follow((status) => status.phase !== 'working');
  if (phase !== 'ready') return;
  const about = await app.attempt(() => app.source.ask('about', null));
  if (about === undefined) return;
  app.change({ about });
  const [wanted = 'map'] = views().flatMap(([name]) => (name === link.view ? [name] : []));
  if (wanted !== 'map') open(wanted);
  await map.start(link);
}

void start();
