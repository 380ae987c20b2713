/**
 * Moves and zooms the view of the map by mouse and keys: a drag moves, the wheel zooms, arrow keys
 * and + - 0 do both. With the lasso on, or Shift held, a drag draws a line around points. Places
 * are in units of the map, 0..SIDE; pixels are those of the element.
 */

/** A point of the map, or a pixel. */
export type Place = readonly [x: number, y: number];

/** The place in the middle of the view, in units of the map, and pixels of the page a unit. */
export interface Camera {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

/** What the control asks and reports; places of these calls are in pixels. */
interface CameraEvents {
  /** Whether a drag must draw a lasso, also without Shift. */
  readonly isLasso: () => boolean;
  readonly moved: () => void;
  /** A mouse or a pen is over a place; null: it has left. */
  readonly hovered: (at: Place | null) => void;
  readonly picked: (at: Place) => void;
  /** The line of a lasso: so far, or the whole one at the end. */
  readonly lassoed: (line: readonly Place[], isWhole: boolean) => void;
}

const SIDE = 65_536;
/** The largest scale, as a multiple of the least. */
const MAX_ZOOM = 400;
/** Pixels that a pointer may move between the beginning and the end of a click. */
const CLICK = 5;
/** Pixels by which an arrow key moves the map, and the factor of + and -. */
const STEP = 80;
const ZOOM = 1.4;

export class CameraControl {
  /** What is in view; replaced at each change. */
  camera: Camera = { x: SIDE / 2, y: SIDE / 2, scale: 0.01 };
  /** Where the pointer went down, and where it was last; null while it is up. */
  #drag: { readonly start: Place; last: Place } | null = null;
  #line: Place[] | null = null;

  constructor(
    private readonly element: HTMLElement,
    private readonly events: CameraEvents,
  ) {
    element.addEventListener('pointerdown', (event) => this.#down(event));
    element.addEventListener('pointermove', (event) => this.#move(event));
    element.addEventListener('pointerup', (event) => this.#up(event));
    element.addEventListener('pointercancel', () => {
      this.#drag = null;
    });
    element.addEventListener('pointerleave', () => events.hovered(null));
    element.addEventListener('wheel', (event) => this.#wheel(event), { passive: false });
    element.addEventListener('keydown', (event) => this.#key(event));
  }

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
    return [this.element.clientWidth, this.element.clientHeight];
  }

  /** The scale at which the whole map fits, with a margin. */
  get whole(): number {
    return (0.92 * Math.max(50, Math.min(...this.#size()))) / SIDE;
  }

  reset(): void {
    this.to({ x: SIDE / 2, y: SIDE / 2, scale: this.whole });
  }

  /** Moves the view; its middle stays on the map, and its scale within limits. */
  to({ x, y, scale }: Camera): void {
    const within = (value: number, least: number, most: number) =>
      Math.max(least, Math.min(most, value));
    const least = this.whole / 2;
    this.camera = {
      x: within(x, 0, SIDE),
      y: within(y, 0, SIDE),
      scale: within(scale, least, MAX_ZOOM * least),
    };
    this.events.moved();
  }

  #by(right: number, down: number): void {
    const { x, y, scale } = this.camera;
    this.to({ x: x + right / scale, y: y + down / scale, scale });
  }

  /** Zooms by a factor. The place under the pixel `at`, by default the middle, stays under it. */
  zoom(factor: number, at?: Place): void {
    const [width, height] = this.#size();
    const [right, down] = at ?? [width / 2, height / 2];
    const [x, y] = this.placeOf([right, down]);
    const scale = this.camera.scale * factor;
    this.to({ x: x - (right - width / 2) / scale, y: y - (down - height / 2) / scale, scale });
  }

  #at(event: MouseEvent): Place {
    const box = this.element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  /** The pointer goes down: the beginning of a drag, a lasso or a click. */
  #down(event: PointerEvent): void {
    if (event.button !== 0 || !event.isPrimary) return;
    const at = this.#at(event);
    this.element.setPointerCapture(event.pointerId);
    this.#drag = { start: at, last: at };
    this.#line = event.shiftKey || this.events.isLasso() ? [at] : null;
  }

  /** The pointer moves: hovers if it is not down, else draws the lasso or moves the view. */
  #move(event: PointerEvent): void {
    if (!event.isPrimary) return; // a second finger
    const at = this.#at(event);
    const drag = this.#drag;
    if (drag === null) {
      this.events.hovered(at);
      return;
    }
    if (this.#line !== null) {
      this.#line.push(at);
      this.events.lassoed(this.#line, false);
    } else this.#by(drag.last[0] - at[0], drag.last[1] - at[1]);
    drag.last = at;
  }

  /** The pointer goes up: ends a lasso, or is a click if it hardly moved. */
  #up(event: PointerEvent): void {
    if (this.#drag === null || !event.isPrimary) return;
    const at = this.#at(event);
    const { start } = this.#drag;
    const line = this.#line ?? [];
    this.#drag = null;
    this.#line = null;
    if (line.length > 2) this.events.lassoed(line, true);
    else if (Math.hypot(at[0] - start[0], at[1] - start[1]) < CLICK) this.events.picked(at);
  }

  /** Zooms at the pointer. A pinch on a touchpad comes as a wheel with Ctrl, in small steps. */
  #wheel(event: WheelEvent): void {
    event.preventDefault();
    // Mode 1 counts lines, of about 16 pixels; else pixels.
    const lines = event.deltaMode === 1 ? 16 : 1;
    this.zoom(2 ** (-event.deltaY * lines * (event.ctrlKey ? 0.012 : 0.003)), this.#at(event));
  }

  #key(event: KeyboardEvent): void {
    const moves: Record<string, () => void> = {
      ArrowLeft: () => this.#by(-STEP, 0),
      ArrowRight: () => this.#by(STEP, 0),
      ArrowUp: () => this.#by(0, -STEP),
      ArrowDown: () => this.#by(0, STEP),
      '+': () => this.zoom(ZOOM),
      '=': () => this.zoom(ZOOM),
      '-': () => this.zoom(1 / ZOOM),
      '0': () => this.reset(),
    };
    if (event.ctrlKey || event.metaKey || moves[event.key] === undefined) return;
    event.preventDefault();
    moves[event.key]();
  }
}
