/**
 * Points drawn by WebGL, up to millions: places of 16 bits, a colour of a palette and whether a
 * point is faded. While the view moves, an even part of many points is drawn, all when it rests.
 */

/** What is in the middle of the view, in units of places, and pixels of the page for each unit. */
export interface Camera {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

export type Colour = readonly [red: number, green: number, blue: number];

/** Points drawn while the view moves. */
const MOVING_POINTS = 40_000;

const VERTEX = `
attribute vec2 place;
attribute float colour;
attribute float faded;
uniform vec2 middle;
uniform vec2 scale;
uniform float size;
uniform sampler2D palette;
varying vec4 shade;
void main() {
  gl_Position = vec4((place - middle) * scale, 0.0, 1.0);
  gl_PointSize = faded > 0.5 ? max(1.0, size * 0.8) : size;
  vec4 own = texture2D(palette, vec2((colour + 0.5) / 256.0, 0.5));
  shade = vec4(own.rgb, faded > 0.5 ? 0.13 : 0.85);
}`;
const FRAGMENT = `
precision mediump float;
uniform float isRound;
varying vec4 shade;
void main() {
  float alpha = 1.0;
  if (isRound > 0.5) {
    float far = length(gl_PointCoord - 0.5);
    alpha = 1.0 - smoothstep(0.40, 0.5, far);
    if (alpha <= 0.0) discard;
  }
  gl_FragColor = vec4(shade.rgb, shade.a * alpha);
}`;

/** A canvas of points. */
export class Scatter {
  readonly #gl: WebGLRenderingContext;
  readonly #program: WebGLProgram;
  readonly #buffers: Record<'place' | 'colour' | 'faded', WebGLBuffer>;
  #count = 0;
  /** By position in the order of drawing its point: any part of them is spread evenly. */
  #order: Uint32Array = new Uint32Array();

  private constructor(
    readonly canvas: HTMLCanvasElement,
    gl: WebGLRenderingContext,
  ) {
    this.#gl = gl;
    this.#program = programOf(gl);
    this.#buffers = { place: buffer(gl), colour: buffer(gl), faded: buffer(gl) };
    gl.useProgram(this.#program);
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
  }

  /** Null where the browser has no WebGL. */
  static on(canvas: HTMLCanvasElement): Scatter | null {
    const options = { antialias: false, alpha: true, premultipliedAlpha: false };
    const gl = canvas.getContext('webgl', options) as WebGLRenderingContext | null;
    return gl && new Scatter(canvas, gl);
  }

  /** Takes new points, none of them faded. */
  points(x: Uint16Array, y: Uint16Array): void {
    const { length } = x;
    this.#count = length;
    this.#order = evenOrder(length);
    const places = new Uint16Array(2 * length);
    this.#order.forEach((point, i) => {
      places[2 * i] = x[point];
      places[2 * i + 1] = y[point];
    });
    this.#fill('place', places);
    this.fade(null);
  }

  /** A colour of the palette for each point. */
  colours(values: Uint8Array, palette: readonly Colour[]): void {
    const gl = this.#gl;
    this.#fill(
      'colour',
      Uint8Array.from(this.#order, (point) => values[point]),
    );
    const texels = new Uint8Array(256 * 4);
    palette.forEach(([red, green, blue], i) => {
      texels.set([red, green, blue, 255], 4 * i);
    });
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, texels);
  }

  /** Fades the points that are not shown; null shows all. */
  fade(isShown: Uint8Array | null): void {
    const values = Uint8Array.from(this.#order, (point) =>
      isShown === null ? 0 : 1 - isShown[point],
    );
    this.#fill('faded', values);
  }

  #fill(name: 'place' | 'colour' | 'faded', values: Uint8Array | Uint16Array): void {
    const gl = this.#gl;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.#buffers[name]);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
  }

  /** Draws the points as the camera sees them, a part of them while it moves. */
  draw({ x, y, scale }: Camera, isMoving: boolean): void {
    const [gl, { canvas }] = [this.#gl, this];
    const ratio = Math.min(2, globalThis.devicePixelRatio || 1);
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== wide) canvas.width = wide;
    if (canvas.height !== high) canvas.height = high;
    gl.viewport(0, 0, wide, high);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    if (this.#count === 0) return;
    const at = (name: string) => gl.getUniformLocation(this.#program, name);
    gl.uniform2f(at('middle'), x, y);
    gl.uniform2f(at('scale'), (2 * scale) / width, (-2 * scale) / height);
    const size = pointSize(this.#count, scale) * ratio;
    gl.uniform1f(at('size'), size);
    gl.uniform1f(at('isRound'), size > 2.5 ? 1 : 0);
    this.#attribute('place', 2, gl.UNSIGNED_SHORT);
    this.#attribute('colour', 1, gl.UNSIGNED_BYTE);
    this.#attribute('faded', 1, gl.UNSIGNED_BYTE);
    gl.drawArrays(gl.POINTS, 0, isMoving ? Math.min(this.#count, MOVING_POINTS) : this.#count);
  }

  #attribute(name: 'place' | 'colour' | 'faded', size: number, type: number): void {
    const gl = this.#gl;
    const at = gl.getAttribLocation(this.#program, name);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.#buffers[name]);
    gl.enableVertexAttribArray(at);
    gl.vertexAttribPointer(at, size, type, false, 0, 0);
  }
}

/** Pixels across a point: larger where there are few, and when the view is near. */
function pointSize(count: number, scale: number): number {
  const base = count > 300_000 ? 1.3 : count > 50_000 ? 1.9 : count > 5_000 ? 3 : 5;
  return Math.min(12, base * Math.max(1, Math.sqrt(scale / 0.015)));
}

function buffer(gl: WebGLRenderingContext): WebGLBuffer {
  return gl.createBuffer() as WebGLBuffer;
}

function programOf(gl: WebGLRenderingContext): WebGLProgram {
  const program = gl.createProgram() as WebGLProgram;
  for (const [type, text] of [
    [gl.VERTEX_SHADER, VERTEX],
    [gl.FRAGMENT_SHADER, FRAGMENT],
  ] as const) {
    const shader = gl.createShader(type) as WebGLShader;
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  return program;
}

/** All numbers below `count`, in steps of about the golden section of it. */
function evenOrder(count: number): Uint32Array {
  let step = Math.max(1, Math.floor(count * 0.618));
  while (count > 1 && divisor(step, count) !== 1) step++;
  return Uint32Array.from({ length: count }, (_, i) => (i * step) % count);
}

function divisor(a: number, b: number): number {
  return b === 0 ? a : divisor(b, a % b);
}
