/** The page: asks what there is, and shows the view that the address names. */

import { html, nothing, render, type TemplateResult } from 'lit-html';
import { App, linkOf, setLink, type View } from './app';
import { FiguresView } from './figures-view';
import { counted } from './format';
import { MapView } from './map-view';
import type { Held, Status } from './messages';
import { ReviewView } from './review-view';
import { sourceOf } from './source';

const root = document.getElementById('page') as HTMLElement;
/** Its mark and title are in the page as it comes, so that they are painted before this runs. */
const header = root.querySelector('header') as HTMLElement;
const heldText = document.getElementById('held')?.textContent;
const held: Held | null = heldText ? JSON.parse(heldText) : null;
const app = new App(sourceOf(held), () => {
  render(bar(), header);
  render(view(), root);
});
const map = new MapView(app);
const review = new ReviewView(app);
const figures = new FiguresView(app);

const VIEWS: readonly (readonly [view: View, name: string])[] = [
  ['map', 'Map'],
  ['review', 'Review'],
  ['figures', 'Figures'],
];

/** The views that this page has; one in a file reviews only a plan that it holds. */
function views() {
  if (held === null) return VIEWS;
  if (held.review) return VIEWS.filter(([name]) => name === 'review');
  return VIEWS.filter(([name]) => name === 'figures' || (name === 'map' && held.map !== null));
}

function open(view: View): void {
  app.change({ view, error: null });
  setLink({ view: view === 'map' ? '' : view });
  if (view === 'review') void review.start();
  if (view === 'figures') void figures.start();
}

/** What is explored, and the views. */
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

function view(): TemplateResult {
  const { error } = app.state;
  return html`${error === null ? nothing : html`<p class="error" role="alert">${error}</p>`}
  ${body()}`;
}

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

async function start(): Promise<void> {
  const link = linkOf(location.hash);
  if (held !== null && held.map === null) {
    app.change({ about: held.about });
    open(held.review ? 'review' : 'figures');
    return;
  }
  app.redraw();
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
