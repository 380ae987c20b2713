/**
 * The map as an element of the page: points, names of clusters, marks of rows that were found, the
 * card of the row under the pointer, the line of the lasso. It draws itself, at most once a frame,
 * and not by the templates of the views. Points are numbered as the rows of the map's answer.
 */

import { html, nothing, render } from 'lit-html';
import type { Card, ColoursAnswer, MapAnswer } from '../messages';
import { bytesOf, uint16Of, uint32Of } from '../packed';
import type { App } from './app';
import { CameraControl, SIDE } from './camera';
import { categoryColours, clusterColours, colourOf, cssOf, rangeColours } from './colours';
import { Grid } from './grid';
import { drawMarks, type Name, type Place } from './marks';
import { type Camera, type Colour, type Inked, inked, pixelOf, Scatter } from './scatter';

/** What the legend shows: an entry for each cluster or category, or a range of numbers. */
interface Legend {
  readonly entries: readonly {
    readonly name: string;
    readonly colour: string;
    readonly size: number;
  }[];
  /** The numbers at the ends of the colours; null for clusters and categories. */
  readonly range: readonly [low: number, high: number] | null;
}

/** Rows below which the view does not move to rows that were found. */
const FEW_ROWS = 2000;
/** Pixels from a point within which a pointer means it. */
const REACH = 12;
/** Time that a pointer must rest on a point before its card is asked for. */
const HOVER_MILLISECONDS = 60;
/** Points by which the middles of all clusters are found, about. */
const MIDDLE_POINTS = 50_000;

/** What the map reports. */
interface PaneEvents {
  /** A point was clicked. */
  readonly picked: (row: number) => void;
  /** The rows within a lasso, ascending. */
  readonly lassoed: (rows: number[]) => void;
  /** The view has come to rest; `at` is the part of a link that restores it. */
  readonly moved: (at: string) => void;
}

/** Which points are shown strongly, while the others fade: rows, or one colour; null for all. */
type Wanted = { readonly rows: Uint32Array } | { readonly colour: number } | null;

/** The map; empty until `show` is called. */
export class MapPane {
  readonly element = document.createElement('div');
  /** The card of the row under the pointer. */
  readonly #hover = document.createElement('div');
  readonly #scatter = new Scatter();
  readonly control: CameraControl;
  legend: Legend = { entries: [], range: null };
  /** By point its row, ascending, its place, and its value: a cluster, a category or 0..255. */
  #rows: Uint32Array = new Uint32Array();
  #x: Uint16Array = new Uint16Array();
  #y: Uint16Array = new Uint16Array();
  #values: Uint8Array = new Uint8Array();
  #grid: Grid | null = null;
  #map: MapAnswer | null = null;
  #colouring: ColoursAnswer | null = null;
  #palette: readonly Colour[] = [];
  #wanted: Wanted = null;
  /** What is drawn: copies of the places, with colours. */
  #points: Inked = { x: this.#x, y: this.#y, ink: new Uint32Array() };
  /** By cluster where its name is. */
  #middles: Place[] = [];
  /** Points that were found, the nearest first, with their ids; the query's own is first. */
  #named: readonly (readonly [point: number, id: string])[] = [];
  /** The point of the row that was searched for; null for a text or a vector. */
  #query: number | null = null;
  /** The lasso so far, in pixels. */
  #line: readonly Place[] = [];
  #timer = 0;
  /** The point under the pointer, -1 for none. */
  #hovered = -1;
  /** Cards that were answered, by row. */
  readonly #cards = new Map<number, Card>();
  #frame = 0;
  /** Sets the view of a new map, once the element has a size; null when that is done. */
  #place: (() => void) | null = null;

  constructor(
    readonly app: App,
    events: PaneEvents,
  ) {
    const { element } = this;
    element.className = 'map';
    element.tabIndex = 0;
    element.setAttribute('role', 'application');
    element.setAttribute(
      'aria-label',
      'Map of all rows. Arrow keys move, + and - zoom, 0 shows all.',
    );
    this.#hover.className = 'hover';
    this.#hover.hidden = true;
    element.append(this.#scatter.element, this.#hover);
    this.control = new CameraControl(element, {
      isLasso: () => app.state.isLasso,
      moved: (camera, isMoving) => {
        this.#leave();
        this.#request();
        if (!isMoving) events.moved(this.#linkOf(camera));
      },
      hovered: (at) => this.#over(at),
      picked: (at) => {
        const point = this.#pointAt(at);
        if (point >= 0) events.picked(this.#rows[point]);
      },
      lassoing: (line) => {
        this.#line = line;
        this.#request();
      },
      lassoed: (line) => {
        this.#line = [];
        const corners = line.map((pixel) => this.control.placeOf(pixel));
        events.lassoed((this.#grid?.within(corners) ?? []).map((point) => this.#rows[point]));
        this.#request();
      },
    });
    // Called too when the element comes onto the page.
    new ResizeObserver(() => this.#seen()).observe(element);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.recolour());
  }

  /** The view as a link has it: x and y as shares of a side, zoom relative to the whole map. */
  #linkOf({ x, y, scale }: Camera): string {
    const zoom = scale / this.control.whole;
    return [x / SIDE, y / SIDE, zoom].map((value) => value.toFixed(4)).join(',');
  }

  /** Shows a map; `at` is the part of a link that restores the view. */
  show(map: MapAnswer, at: string | undefined): void {
    this.#map = map;
    this.#rows = uint32Of(map.rows);
    this.#x = uint16Of(map.x);
    this.#y = uint16Of(map.y);
    this.#grid = new Grid(this.#x, this.#y);
    this.#middles = middlesOf(this.#x, this.#y, bytesOf(map.labels), map.clusters.length);
    this.colour(this.#colouring);
    this.#place = () => {
      const [x, y, zoom] = (at ?? '').split(',').map(Number);
      if (at === undefined || ![x, y, zoom].every(Number.isFinite)) this.control.reset();
      else this.control.to({ x: x * SIDE, y: y * SIDE, scale: zoom * this.control.whole });
    };
    this.#seen();
  }

  /** Draws, and sets a view that waits for it, if the element has a size: it may not be shown. */
  #seen(): void {
    if (this.element.clientWidth > 0) {
      this.#place?.();
      this.#place = null;
    }
    this.#request();
  }

  /** Colours points by a column, or for null by clusters; shows those of all colours. */
  colour(answer: ColoursAnswer | null): void {
    this.#colouring = answer;
    if (this.#wanted !== null && 'colour' in this.#wanted) this.#wanted = null;
    this.recolour();
  }

  /** Computes colours and legend again, for a new map, column or theme of the page. */
  recolour(): void {
    const map = this.#map;
    if (map === null) return;
    const isDark = matchMedia('(prefers-color-scheme: dark)').matches;
    const answer = this.#colouring;
    const names = answer === null ? map.clusters.map(({ name }) => name) : answer.names;
    this.#values = bytesOf(answer?.values ?? map.labels);
    if (names === null) this.#palette = rangeColours();
    else if (answer === null) this.#palette = clusterColours(this.#middles, isDark);
    else this.#palette = categoryColours(names, isDark);
    const sizes = new Uint32Array(256); // points by value
    for (const value of this.#values) sizes[value]++;
    const entries = (names ?? []).map((name, i) => {
      return { name, colour: cssOf(this.#palette[i]), size: sizes[i] };
    });
    this.legend = { entries, range: answer && names === null ? [answer.low, answer.high] : null };
    this.#ink();
    this.app.redraw();
  }

  /** Fades all points but those of some rows, or of one colour; null shows all. */
  only(wanted: Wanted): void {
    this.#wanted = wanted;
    this.#ink();
  }

  /** Colours all points again. The cost is linear in them, so frames draw what is made here. */
  #ink(): void {
    this.#points = inked(this.#x, this.#y, {
      values: this.#values,
      palette: this.#palette,
      ground: this.#ground(),
      isShown: this.#shown(),
    });
    this.#request();
  }

  /** By point 1 if it is shown strongly; null if all are. */
  #shown(): Uint8Array | null {
    const wanted = this.#wanted;
    if (wanted === null) return null;
    if ('colour' in wanted) return this.#values.map((value) => Number(value === wanted.colour));
    // Rows may have no point: those without a code, or that a page in one file leaves out.
    const isShown = new Uint8Array(this.#rows.length);
    for (const row of wanted.rows) {
      const point = this.#pointOf(row);
      if (point >= 0) isShown[point] = 1;
    }
    return isShown;
  }

  /** The point of a row, by binary search; -1 if it is not on the map. */
  #pointOf(row: number): number {
    let [low, high] = [0, this.#rows.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#rows[middle] < row) low = middle + 1;
      else high = middle;
    }
    return this.#rows[low] === row ? low : -1;
  }

  /** Marks rows that were found and the row that was searched for, until the next call. */
  mark(hits: readonly Card[], query: Card | null): void {
    const pointsOf = (cards: readonly Card[]) =>
      cards.map(({ row, id }) => [this.#pointOf(row), id] as const).filter(([point]) => point >= 0);
    this.#query = query === null ? null : (pointsOf([query])[0]?.[0] ?? null);
    this.#named = pointsOf(query === null ? hits : [query, ...hits]);
    this.#request();
  }

  /** Moves the view to the query's row, or to the median of the marked rows; zooms in, not out. */
  showMarked(): void {
    const points = this.#named.map(([point]) => point);
    if (points.length === 0 || this.#rows.length < FEW_ROWS) return;
    const median = (values: Uint16Array) =>
      points.map((i) => values[i]).sort((a, b) => a - b)[points.length >> 1];
    const [x, y] =
      this.#query === null
        ? [median(this.#x), median(this.#y)]
        : [this.#x[this.#query], this.#y[this.#query]];
    const scale = Math.max(this.control.camera.scale, 2.2 * this.control.whole);
    this.control.to({ x, y, scale });
  }

  /** Draws in the next frame, once for all calls until then. */
  #request(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => {
      if (this.element.clientWidth > 0) this.#draw();
    });
  }

  /** Draws points and marks; names of rows that were found take the place of those of clusters. */
  #draw(): void {
    const style = getComputedStyle(this.element);
    const ground = pixelOf(this.#ground());
    const context = this.#scatter.draw(this.control.camera, this.#points, ground);
    const ring = (point: number, radius: number, width: number) => {
      return { at: this.#pixelOf(point), radius, width };
    };
    const rings = this.#named.map(([point]) =>
      point === this.#query ? ring(point, 10, 3) : ring(point, 6, 1.5),
    );
    if (this.#hovered >= 0) rings.push(ring(this.#hovered, 7, 2));
    const names = this.#named.length > 0 ? this.#namesOfRows() : this.#namesOfClusters();
    drawMarks(context, { names, rings, lasso: this.#line }, (name) => style.getPropertyValue(name));
  }

  /** The ids of marked rows, to the right of their rings. */
  #namesOfRows(): Name[] {
    return this.#named.map(([point, text]) => {
      return { text, at: this.#pixelOf(point), gap: point === this.#query ? 15 : 11 };
    });
  }

  /** The names of clusters, largest first; none where a column gives the colours. */
  #namesOfClusters(): Name[] {
    if (this.#map === null || this.#colouring !== null) return [];
    return this.#map.clusters
      .map(({ name, size }, i) => ({ size, text: name, at: this.#middles[i], gap: null }))
      .sort((a, b) => b.size - a.size)
      .map((name) => ({ ...name, at: this.control.pixelOf(name.at) }));
  }

  /** Where a point is in the view. */
  #pixelOf(point: number): Place {
    return this.control.pixelOf([this.#x[point], this.#y[point]]);
  }

  /** The colour of the page below the points. */
  #ground(): Colour {
    return colourOf(getComputedStyle(document.documentElement).getPropertyValue('--ground'));
  }

  /** The point nearest to a pixel within REACH; -1 for none. */
  #pointAt(pixel: Place): number {
    const [x, y] = this.control.placeOf(pixel);
    return this.#grid?.nearest(x, y, REACH / this.control.camera.scale) ?? -1;
  }

  /** The pointer moved or left: marks the point under it, and shows its card after a moment. */
  #over(at: Place | null): void {
    const point = at === null ? -1 : this.#pointAt(at);
    if (point === this.#hovered) return;
    this.#leave();
    this.#hovered = point;
    this.element.classList.toggle('over', point >= 0);
    this.#request();
    if (point < 0) return;
    this.#timer = window.setTimeout(() => void this.#showCard(point), HOVER_MILLISECONDS);
  }

  /** Hides the card, and marks no point. */
  #leave(): void {
    this.#hovered = -1;
    this.#hover.hidden = true;
    clearTimeout(this.#timer);
  }

  /** Shows the card of a point next to it, unless the pointer has left meanwhile. */
  async #showCard(point: number): Promise<void> {
    const row = this.#rows[point];
    const asked =
      this.#cards.get(row) ??
      (await this.app.source.ask('cards', { rows: [row] }).catch(() => []))[0];
    if (asked === undefined || this.#hovered !== point) return;
    this.#cards.set(row, asked);
    const { id, text, values } = asked;
    render(
      html`<p class="id" dir="auto">${id}</p>
        ${text ? html`<p class="text" dir="auto">${text}</p>` : nothing}
        ${values
          .slice(0, 5)
          .map(([name, value]) => html`<p class="value note" dir="auto">${name}: ${value}</p>`)}`,
      this.#hover,
    );
    const [x, y] = this.#pixelOf(point);
    this.#hover.hidden = false;
    const { offsetWidth, offsetHeight } = this.#hover;
    // To the right of the point, or to the left where the map ends; within its height.
    const left = x + 16 + offsetWidth > this.element.clientWidth ? x - 16 - offsetWidth : x + 16;
    const top = Math.max(8, Math.min(this.element.clientHeight - offsetHeight - 8, y - 12));
    this.#hover.style.transform = `translate(${Math.max(8, left)}px, ${top}px)`;
  }
}

/** By cluster the median of its points in x and in y; of a large map by every n-th point. */
function middlesOf(x: Uint16Array, y: Uint16Array, labels: Uint8Array, count: number): Place[] {
  const members = Array.from({ length: count }, (): number[] => []);
  const every = Math.ceil(labels.length / MIDDLE_POINTS);
  for (let i = 0; i < labels.length; i += every) members[labels[i]]?.push(i);
  const median = (values: Uint16Array, points: readonly number[]) =>
    Uint16Array.from(points, (i) => values[i]).sort()[points.length >> 1] ?? 0;
  return members.map((points) => [median(x, points), median(y, points)]);
}
