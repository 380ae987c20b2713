/**
 * The map as an element of the page: points, names of clusters, marks of what was found, the card
 * of the row under the pointer, the line of the lasso. It draws itself, apart from the rest.
 */

import type { App } from './app';
import { CameraControl, SIDE } from './camera';
import { categoryColours, clusterColours, cssOf, rangeColours } from './colours';
import { Grid } from './grid';
import type { Card, ColoursAnswer, MapAnswer } from './messages';
import { bytesOf, uint16Of, uint32Of } from './packed';
import { type Colour, Scatter } from './scatter';

type Place = readonly [x: number, y: number];

/** What the legend shows. */
export interface Legend {
  readonly entries: readonly {
    readonly name: string;
    readonly colour: string;
    readonly size: number;
  }[];
  /** Of a column of numbers; null of categories. */
  readonly range: readonly [low: number, high: number] | null;
}

/** Rows of a map that is seen whole. */
const FEW_ROWS = 2000;
/** How near a pointer must be to a point, in pixels. */
const REACH = 12;
/** A card is asked for when the pointer has rested for so long. */
const HOVER_MILLISECONDS = 60;

export interface PaneEvents {
  readonly picked: (row: number) => void;
  readonly lassoed: (rows: number[]) => void;
  readonly moved: (at: string) => void;
}

export class MapPane {
  readonly element = document.createElement('div');
  readonly #points = document.createElement('canvas');
  readonly #marks = document.createElement('canvas');
  readonly #labels = document.createElement('div');
  readonly #hover = document.createElement('div');
  readonly #scatter: Scatter | null;
  readonly control: CameraControl;
  legend: Legend = { entries: [], range: null };
  #rows: Uint32Array = new Uint32Array();
  #x: Uint16Array = new Uint16Array();
  #y: Uint16Array = new Uint16Array();
  #values: Uint8Array = new Uint8Array();
  #grid: Grid | null = null;
  #map: MapAnswer | null = null;
  #middles: Place[] = [];
  /** Of the names of clusters, measured once: a read of each would lay out the page each frame. */
  #labelSizes: Place[] | null = null;
  #places = new Map<number, number>();
  #marked: readonly number[] = [];
  /** Ids of the marked points, the nearest first. */
  readonly #named = new Map<number, string>();
  #query: number | null = null;
  #line: readonly Place[] = [];
  #timer = 0;
  #hovered = -1;
  /** Nothing is drawn on the marks, so that a view that moves need not clear them. */
  #areMarksClear = false;
  readonly #cards = new Map<number, Card>();
  #frame = 0;

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
    this.#labels.className = 'labels';
    this.#labels.setAttribute('aria-hidden', 'true');
    this.#hover.className = 'hover';
    this.#hover.hidden = true;
    this.#marks.className = 'marks';
    element.append(this.#points, this.#marks, this.#labels, this.#hover);
    this.#scatter = Scatter.on(this.#points);
    this.control = new CameraControl(element, {
      isLasso: () => app.state.isLasso,
      moved: ({ x, y, scale }, isMoving) => {
        this.#hide();
        this.#request(isMoving);
        const zoom = scale / this.control.whole;
        const at = [x / SIDE, y / SIDE, zoom].map((value) => value.toFixed(4)).join(',');
        if (!isMoving) events.moved(at);
      },
      hovered: (at) => this.#over(at),
      picked: (at) => {
        const point = this.#pointAt(at);
        if (point >= 0) events.picked(this.#rows[point]);
      },
      lassoing: (line) => {
        this.#line = line;
        this.#request(true);
      },
      lassoed: (line) => {
        this.#line = [];
        const corners = line.map((pixel) => this.control.placeOf(pixel));
        events.lassoed((this.#grid?.within(corners) ?? []).map((point) => this.#rows[point]));
        this.#request(false);
      },
    });
    new ResizeObserver(() => this.#request(false)).observe(element);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.recolour());
  }

  get isDrawn(): boolean {
    return this.#scatter !== null;
  }

  /** Takes the map; `at` is the part of a link that restores the view. */
  show(map: MapAnswer, at: string | undefined): void {
    this.#map = map;
    this.#rows = uint32Of(map.rows);
    this.#x = uint16Of(map.x);
    this.#y = uint16Of(map.y);
    this.#grid = new Grid(this.#x, this.#y);
    this.#places = new Map(Array.from(this.#rows, (row, i) => [row, i]));
    this.#middles = middlesOf(this.#x, this.#y, bytesOf(map.labels), map.clusters.length);
    this.#scatter?.points(this.#x, this.#y);
    this.colour(null);
    const [x, y, zoom] = (at ?? '').split(',').map(Number);
    if (at === undefined || ![x, y, zoom].every(Number.isFinite)) this.control.reset();
    else this.control.to({ x: x * SIDE, y: y * SIDE, scale: zoom * this.control.whole });
  }

  #colouring: ColoursAnswer | null = null;

  /** Colours by a column, or by clusters. */
  colour(answer: ColoursAnswer | null): void {
    this.#colouring = answer;
    this.recolour();
  }

  /** Sets the colours again, as the page's theme is. */
  recolour(): void {
    const map = this.#map;
    if (map === null) return;
    const isDark = matchMedia('(prefers-color-scheme: dark)').matches;
    const answer = this.#colouring;
    const range = answer !== null && answer.names === null ? answer : null;
    const names = answer?.names ?? map.clusters.map(({ name }) => name);
    this.#values = bytesOf(answer?.values ?? map.labels);
    let colours: readonly Colour[];
    if (range !== null) colours = rangeColours();
    else if (answer === null) colours = clusterColours(this.#middles, isDark);
    else colours = categoryColours(names, isDark);
    this.#scatter?.colours(this.#values, colours);
    const sizes = new Uint32Array(256);
    for (const value of this.#values) sizes[value]++;
    this.legend =
      range !== null
        ? { entries: [], range: [range.low, range.high] }
        : {
            entries: names.map((name, i) => ({ name, colour: cssOf(colours[i]), size: sizes[i] })),
            range: null,
          };
    this.#label(answer === null ? map.clusters.map(({ name }) => name) : []);
    this.#request(false);
    this.app.redraw();
  }

  /** Fades all points but those of some rows, or of one colour; null shows all. */
  only(wanted: { readonly rows: Uint32Array } | { readonly colour: number } | null): void {
    this.#scatter?.fade(wanted === null ? null : this.#shownOf(wanted));
    this.#request(false);
  }

  #shownOf(wanted: { readonly rows: Uint32Array } | { readonly colour: number }): Uint8Array {
    if ('colour' in wanted) {
      return this.#values.map((value) => Number(value === wanted.colour));
    }
    const isShown = new Uint8Array(this.#rows.length);
    for (const row of wanted.rows) {
      const point = this.#places.get(row);
      if (point !== undefined) isShown[point] = 1;
    }
    return isShown;
  }

  /** Marks rows that were found, and the one that was searched for. */
  mark(hits: readonly Card[], query: Card | null): void {
    this.#named.clear();
    for (const { row, id } of query === null ? hits : [query, ...hits]) {
      const point = this.#places.get(row);
      if (point !== undefined) this.#named.set(point, id);
    }
    // Names of clusters would cover those of the rows.
    this.#labels.hidden = hits.length > 0;
    this.#marked = hits.flatMap(({ row }) => this.#places.get(row) ?? []);
    this.#query = query === null ? null : (this.#places.get(query.row) ?? null);
    this.#request(false);
  }

  /** Moves the view so that the marked rows are in it. */
  showMarked(): void {
    const points = this.#query === null ? this.#marked : [this.#query, ...this.#marked];
    if (points.length === 0 || this.#rows.length < FEW_ROWS) return;
    const xs = points.map((i) => this.#x[i]).sort((a, b) => a - b);
    const ys = points.map((i) => this.#y[i]).sort((a, b) => a - b);
    const middle = points.length >> 1;
    const target =
      this.#query === null ? [xs[middle], ys[middle]] : [this.#x[points[0]], this.#y[points[0]]];
    const scale = Math.max(this.control.camera.scale, 2.2 * this.control.whole);
    this.control.to({ x: target[0], y: target[1], scale });
  }

  #request(isMoving: boolean): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => {
      if (this.element.clientWidth === 0) return;
      this.#scatter?.draw(this.control.camera, isMoving);
      this.#drawMarks();
      this.#placeLabels();
    });
  }

  #drawMarks(): void {
    const [canvas, { clientWidth, clientHeight }] = [this.#marks, this.element];
    const isNeeded = this.#named.size > 0 || this.#hovered >= 0 || this.#line.length > 1;
    if (!isNeeded && this.#areMarksClear) return;
    this.#areMarksClear = !isNeeded;
    const ratio = Math.min(2, devicePixelRatio || 1);
    canvas.width = Math.round(clientWidth * ratio);
    canvas.height = Math.round(clientHeight * ratio);
    const context = canvas.getContext('2d');
    if (context === null) return;
    context.scale(ratio, ratio);
    const style = getComputedStyle(this.element);
    const ring = (point: number, radius: number, width: number) => {
      const [x, y] = this.control.pixelOf([this.#x[point], this.#y[point]]);
      for (const [colour, wide] of [
        ['--paper', width + 3],
        ['--ink', width],
      ] as const) {
        context.strokeStyle = style.getPropertyValue(colour);
        context.lineWidth = wide;
        context.beginPath();
        context.arc(x, y, radius, 0, 2 * Math.PI);
        context.stroke();
      }
    };
    this.#drawNames(context, style);
    for (const point of this.#marked) ring(point, 6, 1.5);
    if (this.#query !== null) ring(this.#query, 10, 3);
    if (this.#hovered >= 0) ring(this.#hovered, 7, 2);
    if (this.#line.length < 2) return;
    context.beginPath();
    for (const [x, y] of this.#line) context.lineTo(x, y);
    context.closePath();
    context.fillStyle = style.getPropertyValue('--wash');
    context.fill();
    context.strokeStyle = style.getPropertyValue('--accent');
    context.lineWidth = 2;
    context.stroke();
  }

  /** Ids next to marked points, where one does not cover another that is nearer to the query. */
  #drawNames(context: CanvasRenderingContext2D, style: CSSStyleDeclaration): void {
    const boxes: [number, number, number][] = [];
    context.font = '600 12px system-ui, sans-serif';
    context.textBaseline = 'middle';
    context.lineWidth = 4;
    context.lineJoin = 'round';
    context.strokeStyle = style.getPropertyValue('--ground');
    context.fillStyle = style.getPropertyValue('--ink');
    for (const [point, id] of this.#named) {
      const name = id.length > 24 ? `${id.slice(0, 23)}…` : id;
      const [x, y] = this.control.pixelOf([this.#x[point], this.#y[point]]);
      const [left, wide] = [x + (point === this.#query ? 15 : 11), context.measureText(name).width];
      const isFree = boxes.every(
        ([l, r, at]) => left > r || left + wide < l || Math.abs(at - y) > 14,
      );
      if (!isFree) continue;
      boxes.push([left - 18, left + wide + 4, y]);
      context.strokeText(name, left, y);
      context.fillText(name, left, y);
    }
  }

  #label(names: readonly string[]): void {
    this.#labelSizes = null;
    this.#labels.replaceChildren(
      ...names.map((name) => {
        const label = document.createElement('span');
        label.textContent = name;
        label.dir = 'auto';
        return label;
      }),
    );
  }

  /** Names of clusters where they lie; of two that would cover each other the larger's stays. */
  #placeLabels(): void {
    const labels = [...this.#labels.children] as HTMLElement[];
    if (labels.length === 0 || this.#labels.hidden) return;
    this.#labelSizes ??= labels.map((label) => [label.offsetWidth, label.offsetHeight]);
    const sizes = this.#map?.clusters.map(({ size }) => size) ?? [];
    const order = labels.map((_, i) => i).sort((a, b) => sizes[b] - sizes[a] || a - b);
    const boxes: [number, number, number, number][] = [];
    const { clientWidth, clientHeight } = this.element;
    for (const i of order) {
      const [x, y] = this.control.pixelOf(this.#middles[i]);
      const [wide, high] = this.#labelSizes[i];
      const [left, top] = [
        Math.max(4, Math.min(clientWidth - wide - 4, x - wide / 2)),
        y - high / 2,
      ];
      const isOut = x < 0 || y < 0 || x > clientWidth || y > clientHeight;
      const covers = boxes.some(
        ([l, t, r, b]) => left < r && left + wide > l && top < b && top + high > t,
      );
      labels[i].style.visibility = isOut || covers ? 'hidden' : 'visible';
      labels[i].style.transform = `translate(${left}px, ${top}px)`;
      if (!isOut && !covers) boxes.push([left - 6, top - 2, left + wide + 6, top + high + 2]);
    }
  }

  #pointAt(pixel: Place): number {
    const [x, y] = this.control.placeOf(pixel);
    return this.#grid?.nearest(x, y, REACH / this.control.camera.scale) ?? -1;
  }

  #over(at: Place | null): void {
    const point = at === null ? -1 : this.#pointAt(at);
    if (point === this.#hovered) return;
    this.#hovered = point;
    clearTimeout(this.#timer);
    this.#hover.hidden = true;
    this.element.classList.toggle('over', point >= 0);
    this.#request(false);
    if (point < 0) return;
    this.#timer = window.setTimeout(() => void this.#showCard(point), HOVER_MILLISECONDS);
  }

  #hide(): void {
    this.#hovered = -1;
    this.#hover.hidden = true;
    clearTimeout(this.#timer);
  }

  async #showCard(point: number): Promise<void> {
    const row = this.#rows[point];
    const asked =
      this.#cards.get(row) ??
      (await this.app.source.ask('cards', { rows: [row] }).catch(() => []))[0];
    if (asked === undefined || this.#hovered !== point) return;
    this.#cards.set(row, asked);
    this.#fillCard(asked);
    const [x, y] = this.control.pixelOf([this.#x[point], this.#y[point]]);
    this.#hover.hidden = false;
    const { offsetWidth, offsetHeight } = this.#hover;
    const left = x + 16 + offsetWidth > this.element.clientWidth ? x - 16 - offsetWidth : x + 16;
    const top = Math.max(8, Math.min(this.element.clientHeight - offsetHeight - 8, y - 12));
    this.#hover.style.transform = `translate(${Math.max(8, left)}px, ${top}px)`;
  }

  #fillCard({ id, text, values }: Card): void {
    const line = (name: string, content: string) => {
      const part = document.createElement('p');
      part.className = name;
      part.textContent = content;
      part.dir = 'auto';
      return part;
    };
    const some = values.slice(0, 5).map(([name, value]) => line('value', `${name}: ${value}`));
    this.#hover.replaceChildren(line('id', id), ...(text ? [line('text', text)] : []), ...some);
  }
}

/** By cluster a place among its points: the medians both ways. */
function middlesOf(x: Uint16Array, y: Uint16Array, labels: Uint8Array, count: number): Place[] {
  const members = Array.from({ length: count }, (): number[] => []);
  labels.forEach((label, i) => {
    members[label]?.push(i);
  });
  const median = (values: Uint16Array, points: readonly number[]) =>
    Uint16Array.from(points, (i) => values[i]).sort()[points.length >> 1] ?? 0;
  return members.map((points) => [median(x, points), median(y, points)]);
}
