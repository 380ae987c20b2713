/**
 * The view of the map under mouse, fingers and keys: drag moves, wheel and two fingers zoom, arrow
 * keys and + - work too; with the lasso on, or Shift held, a drag draws a line around points.
 */

import type { Place } from './marks';
import type { Camera } from './scatter';

/** What happens on the map. */
interface CameraEvents {
  readonly isLasso: () => boolean;
  readonly moved: (camera: Camera, isMoving: boolean) => void;
  /** A pointer rests over a place of the page's own units, or left. */
  readonly hovered: (at: Place | null) => void;
  readonly picked: (at: Place) => void;
  readonly lassoing: (line: readonly Place[]) => void;
  readonly lassoed: (line: readonly Place[]) => void;
}

/** Places of the map across a side. */
export const SIDE = 65_536;
const MAX_ZOOM = 400;
/** How much nearer a view is that shows a part of the map. */
const IS_PART = 1.2;
/** Pixels across the legend. */
const LEGEND = 240;
/** Pixels that a pointer may move in a click. */
const CLICK = 5;
/** The view is at rest when nothing moved for so long. */
const REST_MILLISECONDS = 140;

export class CameraControl {
  camera: Camera = { x: SIDE / 2, y: SIDE / 2, scale: 0.01 };
  /** Whether a part of the map is seen, rather than the whole. */
  isPart = false;
  readonly #element: HTMLElement;
  readonly #events: CameraEvents;
  readonly #pointers = new Map<number, Place>();
  #line: Place[] | null = null;
  #start: Place = [0, 0];
  #rest = 0;

  constructor(element: HTMLElement, events: CameraEvents) {
    this.#element = element;
    this.#events = events;
    element.addEventListener('pointerdown', (event) => this.#down(event));
    element.addEventListener('pointermove', (event) => this.#move(event));
    element.addEventListener('pointerup', (event) => this.#up(event));
    element.addEventListener('pointercancel', (event) => this.#pointers.delete(event.pointerId));
    element.addEventListener('pointerleave', () => events.hovered(null));
    element.addEventListener('wheel', (event) => this.#wheel(event), { passive: false });
    element.addEventListener('keydown', (event) => this.#key(event));
  }

  /** From pixels within the element to places of the map, and back. */
  placeOf([x, y]: Place): Place {
    const { camera } = this;
    const [width, height] = this.#size();
    return [camera.x + (x - width / 2) / camera.scale, camera.y + (y - height / 2) / camera.scale];
  }

  pixelOf([x, y]: Place): Place {
    const { camera } = this;
    const [width, height] = this.#size();
    return [(x - camera.x) * camera.scale + width / 2, (y - camera.y) * camera.scale + height / 2];
  }

  #size(): Place {
    return [this.#element.clientWidth, this.#element.clientHeight];
  }

  /** Pixels at the right that the legend covers: none on a phone. */
  get #covered(): number {
    return this.#size()[0] > 2 * LEGEND ? LEGEND : 0;
  }

  /** The scale at which the whole map is seen. */
  get whole(): number {
    const [width, height] = this.#size();
    return (0.92 * Math.max(50, Math.min(width - this.#covered, height))) / SIDE;
  }

  reset(): void {
    const scale = this.whole;
    this.to({ x: SIDE / 2 + this.#covered / 2 / scale, y: SIDE / 2, scale });
  }

  to({ x, y, scale }: Camera): void {
    const inside = (value: number) => Math.max(0, Math.min(SIDE, value));
    const least = this.whole / 2;
    this.camera = {
      ...{ x: inside(x), y: inside(y) },
      scale: Math.max(least, Math.min(MAX_ZOOM * least, scale)),
    };
    this.isPart = this.camera.scale > IS_PART * this.whole;
    this.#events.moved(this.camera, true);
    clearTimeout(this.#rest);
    this.#rest = window.setTimeout(() => this.#events.moved(this.camera, false), REST_MILLISECONDS);
  }

  /** Zooms by a factor; the place under `at` stays there. */
  zoom(factor: number, at?: Place): void {
    const [width, height] = this.#size();
    const pixel = at ?? ([width / 2, height / 2] as const);
    const before = this.placeOf(pixel);
    const scale = this.camera.scale * factor;
    this.to({
      x: before[0] - (pixel[0] - width / 2) / scale,
      y: before[1] - (pixel[1] - height / 2) / scale,
      scale,
    });
  }

  #at(event: PointerEvent | WheelEvent): Place {
    const box = this.#element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  #down(event: PointerEvent): void {
    if (event.button !== 0) return;
    const at = this.#at(event);
    this.#element.setPointerCapture(event.pointerId);
    this.#pointers.set(event.pointerId, at);
    this.#start = at;
    const isDrawn = this.#pointers.size === 1 && (event.shiftKey || this.#events.isLasso());
    this.#line = isDrawn ? [at] : null;
  }

  #move(event: PointerEvent): void {
    const at = this.#at(event);
    const before = this.#pointers.get(event.pointerId);
    if (before === undefined) {
      if (event.pointerType !== 'touch') this.#events.hovered(at);
      return;
    }
    if (this.#line !== null) {
      this.#line.push(at);
      this.#events.lassoing(this.#line);
    } else if (this.#pointers.size === 2) this.#pinch(event.pointerId, before, at);
    else {
      const { x, y, scale } = this.camera;
      this.to({ x: x - (at[0] - before[0]) / scale, y: y - (at[1] - before[1]) / scale, scale });
    }
    this.#pointers.set(event.pointerId, at);
  }

  #pinch(id: number, before: Place, now: Place): void {
    const [other] = [...this.#pointers].filter(([one]) => one !== id).map(([, place]) => place);
    const apart = (place: Place) => Math.hypot(place[0] - other[0], place[1] - other[1]) || 1;
    this.zoom(apart(now) / apart(before), [(now[0] + other[0]) / 2, (now[1] + other[1]) / 2]);
  }

  #up(event: PointerEvent): void {
    if (!this.#pointers.delete(event.pointerId)) return;
    const at = this.#at(event);
    const line = this.#line;
    this.#line = null;
    if (line !== null && line.length > 2) this.#events.lassoed(line);
    else if (Math.hypot(at[0] - this.#start[0], at[1] - this.#start[1]) < CLICK) {
      this.#events.picked(at);
    }
  }

  #wheel(event: WheelEvent): void {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 16 : 1;
    this.zoom(2 ** (-event.deltaY * lines * (event.ctrlKey ? 0.012 : 0.003)), this.#at(event));
  }

  #key(event: KeyboardEvent): void {
    const { x, y, scale } = this.camera;
    const step = 80 / scale;
    const moves: Record<string, () => void> = {
      ArrowLeft: () => this.to({ x: x - step, y, scale }),
      ArrowRight: () => this.to({ x: x + step, y, scale }),
      ArrowUp: () => this.to({ x, y: y - step, scale }),
      ArrowDown: () => this.to({ x, y: y + step, scale }),
      '+': () => this.zoom(1.4),
      '=': () => this.zoom(1.4),
      '-': () => this.zoom(1 / 1.4),
      '0': () => this.reset(),
    };
    if (event.ctrlKey || event.metaKey || moves[event.key] === undefined) return;
    event.preventDefault();
    moves[event.key]();
  }
}
