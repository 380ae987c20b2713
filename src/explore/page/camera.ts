/**
 * Moves and zooms the view of the map by mouse, fingers and keys: a drag moves, wheel and two
 * fingers zoom, arrow keys and + - 0 do both. With the lasso on, or Shift held, a drag draws a line
 * around points. Places are in units of the map, 0..SIDE; pixels are those of the element.
 */

import type { Place } from './marks';
import type { Camera } from './scatter';

/** What the control asks and reports; places of these calls are in pixels. */
interface CameraEvents {
  /** Whether a drag must draw a lasso, also without Shift. */
  readonly isLasso: () => boolean;
  /** The view changed; once more with `isMoving` false when it has come to rest. */
  readonly moved: (camera: Camera, isMoving: boolean) => void;
  /** A mouse or a pen is over a place; null: it has left. */
  readonly hovered: (at: Place | null) => void;
  /** A click or a tap. */
  readonly picked: (at: Place) => void;
  /** The line of a lasso so far, and the whole line. */
  readonly lassoing: (line: readonly Place[]) => void;
  readonly lassoed: (line: readonly Place[]) => void;
}

/** Units of the map along a side. */
export const SIDE = 65_536;
/** The largest scale, as a multiple of the least. */
const MAX_ZOOM = 400;
/** Width of the legend in pixels. */
const LEGEND = 240;
/** Pixels that a pointer may move between the beginning and the end of a click. */
const CLICK = 5;
/** Time without movement after which the view is at rest. */
const REST_MILLISECONDS = 140;

/** The view of the map, and the listeners that change it. */
export class CameraControl {
  /** What is in view; replaced at each change. */
  camera: Camera = { x: SIDE / 2, y: SIDE / 2, scale: 0.01 };
  readonly #element: HTMLElement;
  readonly #events: CameraEvents;
  /** Pointers that are down, by their ids: where each was last. */
  readonly #pointers = new Map<number, Place>();
  /** The lasso that is being drawn; else null. */
  #line: Place[] | null = null;
  /** Where the last pointer went down. */
  #start: Place = [0, 0];
  /** The timer that reports rest. */
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

  /** The place of the map at a pixel of the element. */
  placeOf([x, y]: Place): Place {
    const { camera } = this;
    const [width, height] = this.#size();
    return [camera.x + (x - width / 2) / camera.scale, camera.y + (y - height / 2) / camera.scale];
  }

  /** The pixel of the element at a place of the map; it may be out of view. */
  pixelOf([x, y]: Place): Place {
    const { camera } = this;
    const [width, height] = this.#size();
    return [(x - camera.x) * camera.scale + width / 2, (y - camera.y) * camera.scale + height / 2];
  }

  #size(): Place {
    return [this.#element.clientWidth, this.#element.clientHeight];
  }

  /** Pixels at the right that the legend covers: 0 on a narrow page, as a phone's. */
  get #covered(): number {
    return this.#size()[0] > 2 * LEGEND ? LEGEND : 0;
  }

  /** The scale at which the whole map fits next to the legend, with a margin. */
  get whole(): number {
    const [width, height] = this.#size();
    return (0.92 * Math.max(50, Math.min(width - this.#covered, height))) / SIDE;
  }

  /** Shows the whole map. */
  reset(): void {
    const scale = this.whole;
    // The middle of the map is in the middle of what the legend does not cover.
    this.to({ x: SIDE / 2 + this.#covered / 2 / scale, y: SIDE / 2, scale });
  }

  /** Moves the view; its middle stays on the map, and its scale within limits. */
  to({ x, y, scale }: Camera): void {
    const inside = (value: number) => Math.max(0, Math.min(SIDE, value));
    const least = this.whole / 2;
    this.camera = {
      x: inside(x),
      y: inside(y),
      scale: Math.max(least, Math.min(MAX_ZOOM * least, scale)),
    };
    this.#events.moved(this.camera, true);
    // Each move puts off the report that the view is at rest.
    clearTimeout(this.#rest);
    this.#rest = window.setTimeout(() => this.#events.moved(this.camera, false), REST_MILLISECONDS);
  }

  /** Zooms by a factor. The place under the pixel `at`, by default the middle, stays under it. */
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

  /** The pixel of the element at which an event happened. */
  #at(event: PointerEvent | WheelEvent): Place {
    const box = this.#element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  /** A pointer goes down: the beginning of a drag, a pinch, a lasso or a click. */
  #down(event: PointerEvent): void {
    if (event.button !== 0) return;
    const at = this.#at(event);
    this.#element.setPointerCapture(event.pointerId);
    this.#pointers.set(event.pointerId, at);
    this.#start = at;
    const isDrawn = this.#pointers.size === 1 && (event.shiftKey || this.#events.isLasso());
    this.#line = isDrawn ? [at] : null;
  }

  /** A pointer moves: hovers if it is not down, else draws the lasso, zooms or moves the view. */
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

  /** Zooms by the change of the distance between two fingers, around the middle of both. */
  #pinch(id: number, before: Place, now: Place): void {
    const [other] = [...this.#pointers].filter(([one]) => one !== id).map(([, place]) => place);
    const apart = (place: Place) => Math.hypot(place[0] - other[0], place[1] - other[1]) || 1;
    this.zoom(apart(now) / apart(before), [(now[0] + other[0]) / 2, (now[1] + other[1]) / 2]);
  }

  /** A pointer goes up: ends a lasso, or is a click if it hardly moved. */
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

  /** Zooms at the pointer. A pinch on a touchpad comes as a wheel with Ctrl, in small steps. */
  #wheel(event: WheelEvent): void {
    event.preventDefault();
    // Mode 1 counts lines, of about 16 pixels; else pixels.
    const lines = event.deltaMode === 1 ? 16 : 1;
    this.zoom(2 ** (-event.deltaY * lines * (event.ctrlKey ? 0.012 : 0.003)), this.#at(event));
  }

  /** Arrow keys move by 80 pixels, + and - zoom, 0 shows all. */
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
