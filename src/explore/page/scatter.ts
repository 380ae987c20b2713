/**
 * Draws points into pixels by plain loops, all of them in each frame. With 1,000,000 points that is
 * some 30 times as fast as WebGL in a browser without a graphics card, and as fast as a screen
 * shows in one that has it (bench/explore.mjs).
 */

/** The place in the middle of the view, in units of the map, and pixels of the page a unit. */
export interface Camera {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

/** Parts of 0..255. */
export type Colour = readonly [red: number, green: number, blue: number];

/** Points in the order in which they are drawn, each with its colour as a pixel. */
export interface Inked {
  readonly x: Uint16Array;
  readonly y: Uint16Array;
  readonly ink: Uint32Array;
}

/** Pixels by which the canvas is larger than what is seen, on each side: edges are then whole. */
export const MARGIN = 16;
/** Share of its colour that a faded point keeps; the rest is that of the ground. */
const FADED = 0.16;

/** A colour as a pixel of an image: red is the lowest byte, on the engines of all browsers. */
export const pixelOf = ([red, green, blue]: Colour) =>
  (red | (green << 8) | (blue << 16) | 0xff00_0000) >>> 0;

/** How points are coloured. */
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

/** The pixels of an image, line after line. */
interface Canvas {
  readonly pixels: Uint32Array;
  readonly width: number;
  readonly height: number;
}

/**
 * Draws points over what is there. A point is `size` pixels across: a square up to 2, above that a
 * disc with a soft edge. A point that is not wholly on the canvas is left out.
 */
export function paint(
  { pixels, width, height }: Canvas,
  { x, y, ink }: Inked,
  { x: middleX, y: middleY, scale, size }: Camera & { readonly size: number },
): void {
  const stamp = stampOf(size);
  const [half, isDot] = [stamp.length >> 1, stamp.length === 1];
  // The pixel of place 0, 0; then the last pixels at which a stamp is wholly on the canvas.
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
  /** Pixels of a line of the image. */
  readonly width: number;
  readonly stamp: readonly Uint16Array[];
  readonly ink: number;
}

/** Draws one point, the left upper pixel of whose stamp is `from`. */
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

/** The shape of a point: by line and column how much of a pixel it covers, 0..256. */
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

/** A canvas of the page with the points on it. */
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
