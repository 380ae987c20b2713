/**
 * The map as an element of the page: points, names of clusters, marks of rows that were found, the
 * card of the row under the pointer, the line of the lasso. It draws itself, at most once a frame,
 * and not by the templates of the views. Points are numbered as the rows of the map's answer.
 */

import { html, nothing, render } from 'lit-html';
import type { Card, MapAnswer } from '../messages';
import {
  CameraControl,
  type Colour,
  type Inked,
  inked,
  nearestPoint,
  type Place,
  pixelOf,
  pointsWithin,
  Scatter,
} from './scatter';
import type { Store } from './store';

/**
 * Colours of clusters, on light and on dark pages, as hexadecimal digits: the first eight are told
 * apart by colour-blind people too (after Okabe & Ito 2008). No map has more clusters.
 */
const LIGHT =
  '0072b2 e08a00 009e73 c75b9b d55e00 3fa7dc 7a5bb5 8a8a00 8c564b b00040 5f6b7a 00a3a3'.split(' ');
const DARK =
  '4c9fe0 f2a93b 35c79a e58cc0 f07f3c 7fd0f5 b49be8 d0cc4a c9a08f ff6f91 aeb8c4 55e0d6'.split(' ');

/** Rows below which the view does not move to rows that were found. */
const FEW_ROWS = 2000;
/** Pixels from a point within which a pointer means it. */
const REACH = 12;
/** Time that a pointer must rest on a point before its card is asked for. */
const HOVER_MILLISECONDS = 60;
/** Values of columns on the card of a row, at most. */
const VALUES = 5;

interface PaneEvents {
  readonly picked: (row: number) => void;
  /** The rows within a lasso, ascending. */
  readonly lassoed: (rows: number[]) => void;
}

/** The map; empty until `show` is called. */
export class MapPane {
  readonly element = document.createElement('div');
  readonly control: CameraControl;
  readonly #hover = document.createElement('div');
  readonly #scatter = new Scatter();
  readonly #dark = matchMedia('(prefers-color-scheme: dark)');
  #map: MapAnswer | null = null;
  /** By point its row, ascending, its place, and its cluster. */
  #rows = new Uint32Array();
  #x = new Uint16Array();
  #y = new Uint16Array();
  #labels = new Uint8Array();
  /** By point 1 if it is shown strongly, 0 if it fades; null if none fades. */
  #shown: Uint8Array | null = null;
  /** What is drawn: copies of the places, with colours. */
  #points: Inked = { x: this.#x, y: this.#y, ink: new Uint32Array() };
  /** Points that were found, the nearest first, with their ids; the query's own is first. */
  #named: readonly (readonly [point: number, id: string])[] = [];
  /** The point of the row that was searched for; null for a text. */
  #query: number | null = null;
  #line: readonly Place[] = [];
  #timer = 0;
  /** The point under the pointer, -1 for none. */
  #hovered = -1;
  #frame = 0;
  /** Whether the view of a new map waits until the element has a size. */
  #isNew = false;

  constructor(
    private readonly store: Store,
    events: PaneEvents,
  ) {
    const { element } = this;
    element.className = 'map';
    element.tabIndex = 0;
    element.setAttribute('role', 'application');
    const keys = 'Arrow keys move, + and - zoom, 0 shows all.';
    element.setAttribute('aria-label', `Map of all rows. ${keys}`);
    this.#hover.className = 'hover';
    this.#hover.hidden = true;
    element.append(this.#scatter.element, this.#hover);
    this.control = new CameraControl(element, {
      isLasso: () => store.state.isLasso,
      moved: () => {
        this.#leave();
        this.#request();
      },
      hovered: (at) => this.#over(at),
      picked: (at) => {
        const point = this.#pointAt(at);
        if (point >= 0) events.picked(this.#rows[point]);
      },
      lassoed: (line, isWhole) => {
        this.#line = isWhole ? [] : line;
        this.#request();
        if (!isWhole) return;
        const corners = line.map((pixel) => this.control.placeOf(pixel));
        const points = pointsWithin({ x: this.#x, y: this.#y }, corners);
        events.lassoed(points.map((point) => this.#rows[point]));
      },
    });
    // Called too when the element comes onto the page.
    new ResizeObserver(() => this.#request()).observe(element);
    this.#dark.addEventListener('change', () => {
      this.#ink();
      this.store.change({});
    });
  }

  show(map: MapAnswer): void {
    this.#map = map;
    this.#rows = Uint32Array.from(map.rows);
    this.#x = Uint16Array.from(map.x);
    this.#y = Uint16Array.from(map.y);
    this.#labels = Uint8Array.from(map.labels);
    this.#isNew = true;
    this.#ink();
  }

  get palette(): readonly Colour[] {
    return (this.#dark.matches ? DARK : LIGHT).map(colourOf);
  }

  /** Fades all points but those of some rows; null shows all. */
  only(wanted: readonly number[] | null): void {
    const rows = wanted && new Set(wanted);
    this.#shown = rows && Uint8Array.from(this.#rows, (row) => Number(rows.has(row)));
    this.#ink();
  }

  /** Colours all points again. The cost is linear in them, so frames draw what is made here. */
  #ink(): void {
    // Rows that were to be shown before the map was there have no points.
    const isShown = this.#shown?.length === this.#x.length ? this.#shown : null;
    const [values, palette, ground] = [this.#labels, this.palette, this.#ground()];
    this.#points = inked(this.#x, this.#y, { values, palette, ground, isShown });
    this.#request();
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

  /**
   * Moves the view to the row that is marked first, the query or the nearest; zooms in, not out.
   */
  showMarked(): void {
    const [first] = this.#named;
    if (first === undefined || this.#rows.length < FEW_ROWS) return;
    const [x, y] = [this.#x[first[0]], this.#y[first[0]]];
    const scale = Math.max(this.control.camera.scale, 2.2 * this.control.whole);
    this.control.to({ x, y, scale });
  }

  /** Draws in the next frame, once for all calls until then, if the element has a size. */
  #request(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => {
      if (this.element.clientWidth === 0) return;
      if (this.#isNew) {
        this.#isNew = false;
        this.control.reset();
      }
      this.#draw();
    });
  }

  /** Draws points and marks; names of rows that were found take the place of those of clusters. */
  #draw(): void {
    const ground = pixelOf(this.#ground());
    const context = this.#scatter.draw(this.control.camera, this.#points, ground);
    for (const [point] of this.#named) {
      const isQuery = point === this.#query;
      this.#ring(context, point, isQuery ? 10 : 6, isQuery ? 3 : 1.5);
    }
    if (this.#hovered >= 0) this.#ring(context, this.#hovered, 7, 2);
    this.#drawNames(
      context,
      this.#named.length > 0 ? this.#namesOfRows() : this.#namesOfClusters(),
    );
    this.#drawLasso(context);
  }

  /** A circle around a point, over a wider one of the paper's colour, to be seen among points. */
  #ring(context: CanvasRenderingContext2D, point: number, radius: number, width: number): void {
    for (const [colour, wide] of [
      ['--paper', width + 3],
      ['--ink', width],
    ] as const) {
      context.strokeStyle = this.#css(colour);
      context.lineWidth = wide;
      context.beginPath();
      context.arc(...this.#pixelOf(point), radius, 0, 2 * Math.PI);
      context.stroke();
    }
  }

  #drawLasso(context: CanvasRenderingContext2D): void {
    if (this.#line.length < 2) return;
    context.beginPath();
    for (const place of this.#line) context.lineTo(...place);
    context.closePath();
    context.fillStyle = this.#css('--wash');
    context.fill();
    context.strokeStyle = this.#css('--accent');
    context.lineWidth = 2;
    context.stroke();
  }

  #namesOfRows(): Name[] {
    return this.#named.map(([point, text]) => {
      return { text, at: this.#pixelOf(point), gap: point === this.#query ? 15 : 11 };
    });
  }

  #namesOfClusters(): Name[] {
    return [...(this.#map?.clusters ?? [])]
      .sort((a, b) => b.size - a.size)
      .map(({ name, x, y }) => ({ text: name, at: this.control.pixelOf([x, y]), gap: null }));
  }

  /** Draws names, each unless it would cover one that was drawn or its point is out of view. */
  #drawNames(context: CanvasRenderingContext2D, names: readonly Name[]): void {
    const boxes: [left: number, right: number, y: number][] = [];
    context.font = '600 13px system-ui, sans-serif';
    context.textBaseline = 'middle';
    context.lineWidth = 4;
    context.lineJoin = 'round';
    context.strokeStyle = this.#css('--ground');
    context.fillStyle = this.#css('--ink');
    const end = this.element.clientWidth;
    for (const { text, at, gap } of names) {
      const shown = text.length > MAX_NAME ? `${text.slice(0, MAX_NAME - 1)}…` : text;
      const wide = context.measureText(shown).width;
      const [x, y] = at;
      if (x < 0 || x > end) continue;
      // A name with its middle at a place is moved into view; one next to a point stays there.
      const left = gap === null ? Math.max(4, Math.min(end - wide - 4, x - wide / 2)) : x + gap;
      const [from, to] = [left - (gap ?? 0) - 6, left + wide + 6];
      if (boxes.some(([l, r, other]) => from < r && to > l && Math.abs(other - y) < LINE)) continue;
      boxes.push([from, to, y]);
      // The outline has the colour of the ground, so that letters show among points.
      context.strokeText(shown, left, y);
      context.fillText(shown, left, y);
    }
  }

  #pixelOf(point: number): Place {
    return this.control.pixelOf([this.#x[point], this.#y[point]]);
  }

  /**
   * The colour of a CSS variable in the page's theme, as `rgb(1, 2, 3)`: by the outline of the
   * root, which is never drawn, since the map itself may not be on the page.
   */
  #css(name: string): string {
    const root = document.documentElement;
    root.style.outlineColor = `var(${name})`;
    return getComputedStyle(root).outlineColor;
  }

  #ground(): Colour {
    return (this.#css('--ground').match(/\d+/g) ?? []).map(Number) as unknown as Colour;
  }

  /** The point nearest to a pixel within REACH; -1 for none. */
  #pointAt(pixel: Place): number {
    const points = { x: this.#x, y: this.#y };
    const place = this.control.placeOf(pixel);
    return nearestPoint(points, place, REACH / this.control.camera.scale);
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

  #leave(): void {
    this.#hovered = -1;
    this.#hover.hidden = true;
    clearTimeout(this.#timer);
  }

  /** Shows the card of a point next to it, unless the pointer has left meanwhile. */
  async #showCard(point: number): Promise<void> {
    const asked = { rows: [this.#rows[point]] };
    const [card] = await this.store.source.ask('cards', asked).catch(() => []);
    if (card === undefined || this.#hovered !== point) return;
    const { id, text, values } = card;
    const lines = values
      .slice(0, VALUES)
      .map(([name, value]) => html`<p class="value note" dir="auto">${name}: ${value}</p>`);
    render(
      html`<p class="id" dir="auto">${id}</p>
        ${text ? html`<p class="text" dir="auto">${text}</p>` : nothing} ${lines}`,
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

/** A name: with its middle at a place, or to the right of a point. */
interface Name {
  readonly text: string;
  /** In pixels. */
  readonly at: Place;
  /** Pixels from the place to the beginning of the name; null to put its middle there. */
  readonly gap: number | null;
}

/** Characters of a name, at most, and least pixels between the lines of two names. */
const MAX_NAME = 32;
const LINE = 17;

function colourOf(digits: string): Colour {
  return [0, 2, 4].map((at) => Number.parseInt(digits.slice(at, at + 2), 16)) as unknown as Colour;
}
