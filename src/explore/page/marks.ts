/**
 * Draws what is over the points of the map: names of clusters or of rows that were found, rings
 * around these rows, the line of a lasso. Of names that would cover each other the first is drawn.
 */

import { MARGIN } from './scatter';

/** A point of the map, or a pixel. */
export type Place = readonly [x: number, y: number];

/** A name: with its middle at a place, or to the right of a point. */
export interface Name {
  readonly text: string;
  readonly at: Place;
  /** Pixels from the place to the beginning of the name; null to put its middle there. */
  readonly gap: number | null;
}

/** A circle around a point; `width` is that of its line. */
interface Ring {
  readonly at: Place;
  readonly radius: number;
  readonly width: number;
}

/** All marks, in pixels of the page. Names are in the order of their importance. */
interface Marks {
  readonly names: readonly Name[];
  readonly rings: readonly Ring[];
  /** The line so far; empty without a lasso. */
  readonly lasso: readonly Place[];
}

/** Characters of a name, at most, and least pixels between the lines of two names. */
const MAX_NAME = 32;
const LINE = 17;

/** Draws marks; `colourOf` gives the value of a CSS variable of the page's theme. */
export function drawMarks(
  context: CanvasRenderingContext2D,
  { names, rings, lasso }: Marks,
  colourOf: (name: string) => string,
): void {
  for (const { at, radius, width } of rings) {
    // A wider ring in the colour of the paper below each one, so that it shows among points.
    for (const [colour, wide] of [
      ['--paper', width + 3],
      ['--ink', width],
    ] as const) {
      context.strokeStyle = colourOf(colour);
      context.lineWidth = wide;
      context.beginPath();
      context.arc(...at, radius, 0, 2 * Math.PI);
      context.stroke();
    }
  }
  drawNames(context, names, colourOf);
  if (lasso.length < 2) return;
  context.beginPath();
  for (const place of lasso) context.lineTo(...place);
  context.closePath();
  context.fillStyle = colourOf('--wash');
  context.fill();
  context.strokeStyle = colourOf('--accent');
  context.lineWidth = 2;
  context.stroke();
}

/** Draws names, each unless it would cover one that was drawn or its point is out of view. */
function drawNames(
  context: CanvasRenderingContext2D,
  names: readonly Name[],
  colourOf: (name: string) => string,
): void {
  const boxes: [left: number, right: number, y: number][] = [];
  context.font = '600 13px system-ui, sans-serif';
  context.textBaseline = 'middle';
  context.lineWidth = 4;
  context.lineJoin = 'round';
  context.strokeStyle = colourOf('--ground');
  context.fillStyle = colourOf('--ink');
  const end = context.canvas.clientWidth - 2 * MARGIN;
  for (const { text, at, gap } of names) {
    const shown = text.length > MAX_NAME ? `${text.slice(0, MAX_NAME - 1)}…` : text;
    const wide = context.measureText(shown).width;
    const [x, y] = at;
    if (x < 0 || x > end) continue;
    // A name with its middle at a place is moved into view; one next to a point stays there.
    const left = gap === null ? Math.max(4, Math.min(end - wide - 4, x - wide / 2)) : x + gap;
    const box = [left - (gap ?? 0) - 6, left + wide + 6] as const;
    if (boxes.some(([l, r, other]) => box[0] < r && box[1] > l && Math.abs(other - y) < LINE)) {
      continue;
    }
    boxes.push([...box, y]);
    // The outline has the colour of the ground, so that letters show among points.
    context.strokeText(shown, left, y);
    context.fillText(shown, left, y);
  }
}
