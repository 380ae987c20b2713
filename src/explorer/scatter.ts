/**
 * Points drawn into pixels by plain loops, all of them in each frame. With 1,000,000 points that is
 * some 30 times as fast as WebGL where a browser has no graphics card to draw with, and as fast as
 * a screen shows where it has one (bench/explore.mjs).
 */

/** What is in the middle of the view, in units of places, and pixels of the page for each unit. */
export interface Camera {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

export type Colour = readonly [red: number, green: number, blue: number];

/** Points in the order in which they are drawn, each with the pixel of its colour. */
export interface Inked {
  readonly x: Uint16Array;
  readonly y: Uint16Array;
  readonly ink: Uint32Array;
}

/** Pixels around what is seen, so that points at its edge are drawn whole. */
export const MARGIN = 16;
/** How much of its colour a faded point keeps. */
const FADED = 0.16;

/** A colour as a pixel: red in the lowest byte, as every engine that runs browsers has it. */
export const pixelOf = ([red, green, blue]: Colour) =>
  (red | (green << 8) | (blue << 16) | 0xff00_0000) >>> 0;

interface InkOptions {
  /** By point the number of its colour. */
  readonly values: Uint8Array;
  readonly palette: readonly Colour[];
  readonly ground: Colour;
  /** By point 1 where it is not faded; null where none is. */
  readonly isShown: Uint8Array | null;
}

/** Colours the points; faded ones come first, so that they cover no others. */
export function inked(x: Uint16Array, y: Uint16Array, options: InkOptions): Inked {
  const { values, palette, ground, isShown } = options;
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

/** Pixels of an image, its lines one after another. */
interface Canvas {
  readonly pixels: Uint32Array;
  readonly width: number;
  readonly height: number;
}

/**
 * Draws points over what is there. A point `size` pixels across is a square up to 2, then a disc
 * with a soft edge. One that is not wholly on the canvas is left out.
 */
export function paint(
  { pixels, width, height }: Canvas,
  { x, y, ink }: Inked,
  { x: middleX, y: middleY, scale, size }: Camera & { readonly size: number },
): void {
  const stamp = stampOf(size);
  const [half, isDot] = [stamp.length >> 1, stamp.length === 1];
  const [left, top] = [width / 2 - middleX * scale, height / 2 - middleY * scale];
  const [lastX, lastY] = [width - stamp.length, height - stamp.length];
  for (let i = 0; i < ink.length; i++) {
    const column = Math.floor(x[i] * scale + left) - half;
    const line = Math.floor(y[i] * scale + top) - half;
    if (column < 0 || line < 0 || column > lastX || line > lastY) continue;
    const at = line * width + column;
    if (isDot) pixels[at] = ink[i];
    else stampAt(pixels, at, { width, stamp, ink: ink[i] });
  }
}

interface StampOptions {
  readonly width: number;
  readonly stamp: readonly Uint16Array[];
  readonly ink: number;
}

function stampAt(pixels: Uint32Array, from: number, { width, stamp, ink }: StampOptions): void {
  for (let row = 0, start = from; row < stamp.length; row++, start += width) {
    const covers = stamp[row];
    for (let i = 0; i < covers.length; i++) {
      const cover = covers[i];
      if (cover === 256) pixels[start + i] = ink;
      else if (cover > 0) pixels[start + i] = mixed(pixels[start + i], ink, cover);
    }
  }
}

/** `cover` parts of 256 of one pixel over another; red and blue are mixed in one product. */
function mixed(below: number, above: number, cover: number): number {
  const rest = 256 - cover;
  const redBlue = ((below & 0xff00ff) * rest + (above & 0xff00ff) * cover) >>> 8;
  const green = ((below & 0x00ff00) * rest + (above & 0x00ff00) * cover) >>> 8;
  return ((redBlue & 0xff00ff) | (green & 0x00ff00) | 0xff00_0000) >>> 0;
}

/** By line and column of a point how much of the pixel it covers, of 256. */
export function stampOf(size: number): readonly Uint16Array[] {
  if (size <= 2) {
    const side = Math.max(1, Math.round(size));
    return Array.from({ length: side }, () => new Uint16Array(side).fill(256));
  }
  const side = Math.ceil(size) | 1;
  const middle = (side - 1) / 2;
  return Array.from({ length: side }, (_, row) =>
    Uint16Array.from({ length: side }, (_, column) => {
      const inside = size / 2 + 0.5 - Math.hypot(row - middle, column - middle);
      return Math.round(256 * Math.max(0, Math.min(1, inside)));
    }),
  );
}

/** A canvas on the page with points on it. */
export class Scatter {
  readonly element = document.createElement('canvas');
  readonly #context: CanvasRenderingContext2D;
  #image: ImageData | null = null;
  /** What is in the image. */
  #camera: Camera | null = null;
  #points: Inked | null = null;

  constructor() {
    // Each frame is made of pixels in memory: a graphics card would only have to give them back.
    const options = { alpha: false, willReadFrequently: true };
    this.#context = this.element.getContext('2d', options) as CanvasRenderingContext2D;
  }

  /**
   * Draws the points on the ground, and returns where marks are drawn over them, in pixels of the
   * page from the left upper corner of what is seen. The same points and camera are drawn once.
   */
  draw(camera: Camera, points: Inked, ground: number): CanvasRenderingContext2D {
    const { element } = this;
    const context = this.#context;
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

/** Pixels across a point: larger where there are few, and when the view is near. */
function pointSize(count: number, scale: number): number {
  const base = count > 300_000 ? 1 : count > 50_000 ? 1.9 : count > 5_000 ? 3 : 5;
  return Math.min(12, base * Math.max(1, Math.sqrt(scale / 0.015)));
}
