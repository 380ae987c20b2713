/** The rows of a file as points of a map, drawn on a canvas: near rows lie near each other. */

import { codePoints, mapRows, type PlacedRows } from '../../src/explore/layout/map-rows';
import type { LongCall } from '../../src/index';
import type { Duplicates } from './file';

/** Lays out the rows that have a code. */
export function placeRows({ codes }: Duplicates, call: LongCall): Promise<PlacedRows> {
  const all = Uint32Array.from({ length: codes.count }, (_, row) => row);
  const points = codePoints(
    all.filter((row) => !codes.isNull(row)),
    codes,
    () => null,
  );
  const { signal = new AbortController().signal, onProgress = () => undefined } = call;
  return mapRows(points, (_, stage) => stage({ signal, onProgress }));
}

/** Draws the rows; those that are dropped as duplicates in the stronger colour, on top. */
export function draw(
  canvas: HTMLCanvasElement,
  { rows, x, y }: PlacedRows,
  { plan }: Duplicates,
): void {
  const context = canvas.getContext('2d');
  if (context === null) return;
  const scale = globalThis.devicePixelRatio;
  const { clientWidth: width, clientHeight: height } = canvas;
  [canvas.width, canvas.height] = [width * scale, height * scale];
  context.scale(scale, scale);
  const style = getComputedStyle(canvas);
  const placeOf = [scaled(x, width), scaled(y, height)] as const;
  const radius = rows.length > 2000 ? 1.5 : 3;
  for (const wanted of [1, 0]) {
    context.fillStyle = style.getPropertyValue(wanted === 1 ? '--kept' : '--dropped');
    rows.forEach((row, point) => {
      if (plan.kept[row] !== wanted) return;
      context.beginPath();
      context.arc(placeOf[0](point), placeOf[1](point), radius, 0, 2 * Math.PI);
      context.fill();
    });
  }
}

/** Where values are on an axis of so many pixels. */
function scaled(values: Float32Array, pixels: number): (point: number) => number {
  const least = values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const most = values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  const margin = 8;
  const factor = most > least ? (pixels - 2 * margin) / (most - least) : 0;
  return (point) => margin + factor * (values[point] - least);
}
