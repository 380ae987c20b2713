/**
 * Charts as SVG text: a frame with axes and a key, and marks in it. A chart has a title and a
 * description for those who do not see it; its colours are the page's, light or dark.
 *
 * No plot library: Observable Plot needs a DOM where there is none, and 88 KB of script in a page
 * that is to be read without scripts; what is drawn here are lines, bands, bars and dots.
 */

import { escaped } from './escape';
import type { Scale } from './scale';

export interface Axis {
  readonly scale: Scale;
  readonly label: string;
}

/** Where values lie in the picture, in its own units. */
export interface Place {
  x(value: number): number;
  y(value: number): number;
}

export interface Mark {
  /** For the key; without, it is not in it. */
  readonly name?: string;
  /** Place in the palette; null for grey. */
  readonly colour: number | null;
  /** How the key shows it. */
  readonly shape: 'line' | 'dashed' | 'rule' | 'area' | 'bar' | 'dot';
  draw(place: Place): string;
}

export interface ChartOptions {
  /** A word for the chart, one a page: its elements are named by it. */
  readonly name: string;
  readonly title: string;
  /** What it shows, in a sentence or two. */
  readonly description: string;
  readonly marks: readonly Mark[];
  /** Without axes, the frame alone is drawn. */
  readonly x: Axis | { readonly scale: Scale; readonly label?: undefined };
  readonly y: Axis | { readonly scale: Scale; readonly label?: undefined };
  readonly width?: number;
  readonly height?: number;
}

/** Colours of the palette, which the page's style gives: told apart without red and green. */
export const COLOURS = 8;
const MARGIN = { top: 40, right: 20, bottom: 50, left: 84 } as const;
/** Width of a letter of the key, about. */
const LETTER = 7.2;

export function colourClass(colour: number | null): string {
  return colour === null ? 'grey' : `c${colour % COLOURS}`;
}

/** A coordinate, short and the same everywhere. */
export function coordinate(value: number): string {
  return String(Math.round(value * 10) / 10);
}

/** An `<svg>` element. */
export function chart(options: ChartOptions): string {
  const { name, title, description, marks, x, y, width = 720, height = 360 } = options;
  const [left, right] = [x.label === undefined ? 20 : MARGIN.left, width - MARGIN.right];
  const [top, bottom] = [MARGIN.top, height - (x.label === undefined ? 20 : MARGIN.bottom)];
  const place: Place = {
    x: (value) => left + x.scale.at(value) * (right - left),
    y: (value) => bottom - y.scale.at(value) * (bottom - top),
  };
  const parts = [
    `<svg class="chart" id="${name}" viewBox="0 0 ${width} ${height}" role="img"`,
    ` aria-labelledby="${name}-title ${name}-description">`,
    `<title id="${name}-title">${escaped(title)}</title>`,
    `<desc id="${name}-description">${escaped(description)}</desc>`,
    `<rect class="frame" x="${left}" y="${top}" width="${right - left}" height="${bottom - top}"/>`,
  ];
  if (x.label !== undefined) {
    parts.push(
      ...x.scale.ticks.map(({ value, label }) => {
        const at = coordinate(place.x(value));
        const text = `<text x="${at}" y="${bottom + 18}" text-anchor="middle">${label}</text>`;
        return `<path class="grid" d="M${at} ${top}V${bottom}"/>${text}`;
      }),
      `<text class="label" x="${(left + right) / 2}" y="${height - 10}" text-anchor="middle">` +
        `${escaped(x.label)}</text>`,
    );
  }
  if (y.label !== undefined) {
    parts.push(
      ...y.scale.ticks.map(({ value, label }) => {
        const at = place.y(value);
        const beside = `x="${left - 8}" y="${coordinate(at + 4)}"`;
        const text = `<text ${beside} text-anchor="end">${label}</text>`;
        return `<path class="grid" d="M${left} ${coordinate(at)}H${right}"/>${text}`;
      }),
      `<text class="label" transform="translate(16 ${(top + bottom) / 2}) rotate(-90)"` +
        ` text-anchor="middle">${escaped(y.label)}</text>`,
    );
  }
  parts.push(...marks.map((mark) => mark.draw(place)), key(marks, left), '</svg>');
  return parts.join('');
}

/** Names of the marks beside their colours, in a line above the frame. */
function key(marks: readonly Mark[], left: number): string {
  let at = left;
  return marks
    .map(({ name, colour, shape }) => {
      if (name === undefined) return '';
      const [from, look] = [coordinate(at), colourClass(colour)];
      at += 30 + LETTER * name.length + 18;
      const text = `<text x="${coordinate(Number(from) + 30)}" y="24">${escaped(name)}</text>`;
      return `${sample(shape, Number(from), look)}${text}`;
    })
    .join('');
}

function sample(shape: Mark['shape'], x: number, look: string): string {
  if (shape === 'area' || shape === 'bar') {
    const bar = shape === 'bar' ? ' bar' : '';
    return `<rect class="area${bar} ${look}" x="${x}" y="13" width="24" height="13"/>`;
  }
  if (shape === 'dot') return `<circle class="dot ${look}" cx="${x + 12}" cy="19.5" r="5"/>`;
  if (shape === 'rule') return `<path class="rule" d="M${x + 12} 11V28"/>`;
  const dashes = shape === 'dashed' ? ' dashed' : '';
  return `<path class="line${dashes} ${look}" d="M${x} 19.5h24"/>`;
}
