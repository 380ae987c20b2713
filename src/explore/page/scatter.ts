/**
 * Draws points into pixels, and finds points by place, by plain loops over all of them. Drawing
 * 1,000,000 points is some 30 times as fast as WebGL in a browser without a graphics card, and as
 * fast as a screen shows in one that has it (bench/explore.mjs); finding takes a millisecond. Also
 * moves and zooms the view. Places are in units of the map, 0..SIDE; pixels are those of the
 * element.
 */

/** A point of the map, or a pixel. */
export type Place = readonly [x: number, y: number];

/** The place in the middle of the view, in units of the map, and pixels of the page a unit. */
interface Camera {
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

/**
 * Moves and zooms the view of the map by mouse and keys: a drag moves, the wheel zooms, arrow keys
 * and + - 0 do both. With the lasso on, or Shift held, a drag draws a line around points.
 */
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

export type Colour = readonly [red: number, green: number, blue: number];

/** Points in the order in which they are drawn, each with its colour as a pixel. */
export interface Inked {
  readonly x: Uint16Array;
  readonly y: Uint16Array;
  readonly ink: Uint32Array;
}

/** Pixels by which the canvas is larger than what is seen, on each side: edges are then whole. */
const MARGIN = 16;
/** Share of its colour that a faded point keeps; the rest is that of the ground. */
const FADED = 0.16;

/** A colour as a pixel of an image: red is the lowest byte, on the engines of all browsers. */
export const pixelOf = ([red, green, blue]: Colour) =>
  (red | (green << 8) | (blue << 16) | 0xff00_0000) >>> 0;

interface InkOptions {
  /** By point the index of its colour in the palette; without one it has that of the ground. */
  readonly values: Uint8Array;
  readonly palette: readonly Colour[];
  /** The colour of the page below the points. */
  readonly ground: Colour;
  /** By point 1 if it is shown strongly, 0 if it fades; null if none fades. */
  readonly isShown: Uint8Array | null;
}

/** Colours the points; a copy, in which faded points come first: they must cover no others. */
export function inked(x: Uint16Array, y: Uint16Array, options: InkOptions): Inked {
  const { values, palette, ground, isShown } = options;
  // By value the pixel, mixed with the ground, so that no mixing is left for the drawing.
  const pixels = (share: number) =>
    Uint32Array.from({ length: 256 }, (_, i) => {
      const parts = (palette[i] ?? ground).map((part, at) => {
        return Math.round(share * part + (1 - share) * ground[at]);
      });
      return pixelOf(parts as unknown as Colour);
    });
  const all = { x: x.slice(), y: y.slice(), ink: new Uint32Array(x.length) };
  let count = 0;
  for (const wanted of isShown === null ? [1] : [0, 1]) {
    const colours = pixels(wanted === 0 ? FADED : 1);
    for (let i = 0; i < x.length; i++) {
      if (isShown !== null && isShown[i] !== wanted) continue;
      all.x[count] = x[i];
      all.y[count] = y[i];
      all.ink[count++] = colours[values[i]];
    }
  }
  return all;
}

interface Image {
  readonly pixels: Uint32Array;
  readonly width: number;
  readonly height: number;
}

/**
 * Draws points over what is there. A point is `size` pixels across: a square up to 2, above that a
 * disc with a soft edge. A point that is not wholly on the image is left out.
 */
export function paint(
  { pixels, width, height }: Image,
  { x, y, ink }: Inked,
  { x: middleX, y: middleY, scale, size }: Camera & { readonly size: number },
): void {
  const stamp = stampOf(size);
  const side = Math.sqrt(stamp.length);
  const half = side >> 1;
  // The pixel of place 0, 0.
  const [left, top] = [width / 2 - middleX * scale, height / 2 - middleY * scale];
  for (let i = 0; i < ink.length; i++) {
    const column = Math.floor(x[i] * scale + left) - half;
    const line = Math.floor(y[i] * scale + top) - half;
    if (column < 0 || line < 0 || column > width - side || line > height - side) continue;
    const from = line * width + column;
    for (let row = 0, cell = 0, start = from; row < side; row++, start += width) {
      for (let at = start; at < start + side; at++, cell++) {
        const cover = stamp[cell];
        if (cover === 256) pixels[at] = ink[i];
        else if (cover > 0) pixels[at] = mixed(pixels[at], ink[i], cover);
      }
    }
  }
}

/**
 * One pixel over another, `cover` parts of 256 of it. Red and blue are mixed in one product: there
 * are 8 bits between them, so that neither reaches the other.
 */
function mixed(below: number, above: number, cover: number): number {
  const rest = 256 - cover;
  const redBlue = ((below & 0xff00ff) * rest + (above & 0xff00ff) * cover) >>> 8;
  const green = ((below & 0x00ff00) * rest + (above & 0x00ff00) * cover) >>> 8;
  return ((redBlue & 0xff00ff) | (green & 0x00ff00) | 0xff00_0000) >>> 0;
}

/** The shape of a point, a square of pixels: how much of each it covers, 0..256. */
export function stampOf(size: number): Uint16Array {
  if (size <= 2) return new Uint16Array(Math.max(1, Math.round(size)) ** 2).fill(256);
  const side = Math.ceil(size) | 1;
  const middle = (side - 1) / 2;
  return Uint16Array.from({ length: side * side }, (_, i) => {
    const away = Math.hypot(Math.floor(i / side) - middle, (i % side) - middle);
    return Math.round(256 * Math.max(0, Math.min(1, size / 2 + 0.5 - away)));
  });
}

interface Points {
  readonly x: Uint16Array;
  readonly y: Uint16Array;
}

/** The point nearest to a place, within a radius; of equally near ones the first; -1 for none. */
export function nearestPoint({ x, y }: Points, [atX, atY]: Place, radius: number): number {
  let [best, found] = [radius * radius, -1];
  for (let i = 0; i < x.length; i++) {
    const square = (x[i] - atX) ** 2 + (y[i] - atY) ** 2;
    if (square < best || (square === best && found < 0)) {
      best = square;
      found = i;
    }
  }
  return found;
}

/** The points within the closed line through `corners`, by the even-odd rule; ascending. */
export function pointsWithin({ x, y }: Points, corners: readonly Place[]): number[] {
  const [xs, ys] = [corners.map(([one]) => one), corners.map(([, one]) => one)];
  const [left, right] = [Math.min(...xs), Math.max(...xs)];
  const [top, bottom] = [Math.min(...ys), Math.max(...ys)];
  const found: number[] = [];
  for (let i = 0; i < x.length; i++) {
    if (x[i] < left || x[i] > right || y[i] < top || y[i] > bottom) continue;
    if (isInside(x[i], y[i], corners)) found.push(i);
  }
  return found;
}

/** Whether a ray from the place to the right crosses the line an odd number of times. */
function isInside(x: number, y: number, corners: readonly Place[]): boolean {
  let inside = false;
  let [x1, y1] = corners[corners.length - 1];
  for (const [x2, y2] of corners) {
    if (y1 > y !== y2 > y && x < ((x2 - x1) * (y - y1)) / (y2 - y1) + x1) inside = !inside;
    [x1, y1] = [x2, y2];
  }
  return inside;
}

export class Scatter {
  readonly element = document.createElement('canvas');
  readonly #context: CanvasRenderingContext2D;
  /** The points as they were last drawn, without marks. */
  #image: ImageData | null = null;
  /** What is in the image: compared by identity. */
  #camera: Camera | null = null;
  #points: Inked | null = null;

  constructor() {
    // Frames are made in memory, so a canvas on the graphics card would only cost copies.
    const options = { alpha: false, willReadFrequently: true };
    this.#context = this.element.getContext('2d', options) as CanvasRenderingContext2D;
  }

  /**
   * Draws the points on the ground. Returns a context to draw marks over them, in pixels of the
   * page from the left upper corner of what is seen. For the same points and camera as before only
   * the image of these is put back, which removes the marks.
   */
  draw(camera: Camera, points: Inked, ground: number): CanvasRenderingContext2D {
    const { element } = this;
    const context = this.#context;
    // Above two pixels of the screen for one of the page, points are not drawn finer.
    const ratio = Math.min(2, devicePixelRatio || 1);
    const [width, height] = [element.clientWidth, element.clientHeight].map((side) =>
      Math.max(1, Math.round(side * ratio)),
    );
    const isNew = element.width !== width || element.height !== height || this.#image === null;
    if (isNew) {
      element.width = width;
      element.height = height;
    }
    const image = isNew ? context.createImageData(width, height) : (this.#image as ImageData);
    this.#image = image;
    if (isNew || camera !== this.#camera || points !== this.#points) {
      const pixels = new Uint32Array(image.data.buffer).fill(ground);
      const size = ratio * pointSize(points.ink.length, camera.scale);
      const view = { ...camera, scale: ratio * camera.scale, size };
      paint({ pixels, width, height }, points, view);
      this.#camera = camera;
      this.#points = points;
    }
    context.putImageData(image, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, MARGIN * ratio, MARGIN * ratio);
    return context;
  }
}

/** Pixels of the page across a point: more if there are few points, or the view is near. */
function pointSize(count: number, scale: number): number {
  const base = count > 300_000 ? 1 : count > 50_000 ? 1.9 : count > 5_000 ? 3 : 5;
  return Math.min(12, base * Math.max(1, Math.sqrt(scale / 0.015)));
}
