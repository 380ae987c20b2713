/**
 * Charts as SVG text: a frame with axes and a key, and marks in it. A chart has a title and a
 * description for those who do not see it; its colours are the page's, light or dark.
 *
 * No plot library: Observable Plot needs a DOM where there is none, and 88 KB of script in a page
 * that is to be read without scripts; what is drawn here are lines, bands, bars and dots.
 */

import { plain } from '../output/figures';
import { escaped } from './page';

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

export interface Point {
  readonly x: number;
  readonly y: number;
  /** Told when one hovers. */
  readonly title?: string;
}

interface Look {
  readonly name?: string;
  readonly colour: number | null;
}

const at = ({ x, y }: Point, place: Place) => `${coordinate(place.x(x))} ${coordinate(place.y(y))}`;
const hover = (title: string | undefined) =>
  title === undefined ? '' : `<title>${escaped(title)}</title>`;

/** A line through points in their order. */
export function line(
  points: readonly Point[],
  { isDashed = false, ...look }: Look & { isDashed?: boolean },
): Mark {
  const dashes = isDashed ? ' dashed' : '';
  return {
    ...look,
    shape: isDashed ? 'dashed' : 'line',
    draw: (place) =>
      points.length === 0
        ? ''
        : `<path class="line${dashes} ${colourClass(look.colour)}" d="M${points
            .map((point) => at(point, place))
            .join('L')}"/>`,
  };
}

/** The area between a lower and an upper line. */
export function band(
  points: readonly { x: number; low: number; high: number }[],
  look: Look,
): Mark {
  return {
    ...look,
    shape: 'area',
    draw: (place) => {
      if (points.length === 0) return '';
      const up = points.map(({ x, high }) => at({ x, y: high }, place));
      const back = points.map(({ x, low }) => at({ x, y: low }, place)).reverse();
      return `<path class="area ${colourClass(look.colour)}" d="M${[...up, ...back].join('L')}Z"/>`;
    },
  };
}

/** Bars from 0, each from `from` to `to`. Empty ones are not drawn. */
export function bars(
  entries: readonly { from: number; to: number; y: number; title?: string }[],
  look: Look,
): Mark {
  return {
    ...look,
    shape: 'bar',
    draw: (place) =>
      entries
        .filter(({ y }) => y > 0)
        .map(({ from, to, y, title }) => {
          const [left, right] = [place.x(from), place.x(to)];
          const [top, bottom] = [place.y(y), place.y(0)];
          const size = [Math.max(1, right - left - 1), bottom - top].map(coordinate);
          return (
            `<rect class="area bar ${colourClass(look.colour)}" x="${coordinate(left)}"` +
            ` y="${coordinate(top)}" width="${size[0]}" height="${size[1]}">` +
            `${hover(title)}</rect>`
          );
        })
        .join(''),
  };
}

/** A dot a point. */
export function dots(
  points: readonly Point[],
  { radius = 4, ...look }: Look & { radius?: number },
): Mark {
  return {
    ...look,
    shape: 'dot',
    draw: (place) =>
      points
        .map((point) => {
          const [x, y] = [coordinate(place.x(point.x)), coordinate(place.y(point.y))];
          const shape = `class="dot ${colourClass(look.colour)}" cx="${x}" cy="${y}" r="${radius}"`;
          const circle = `<circle ${shape}`;
          return point.title === undefined
            ? `${circle}/>`
            : `${circle}>${hover(point.title)}</circle>`;
        })
        .join(''),
  };
}

/** A vertical line through the chart, named in the key. */
export function rule(x: number, name: string, range: { low: number; high: number }): Mark {
  return {
    ...{ name, colour: null, shape: 'rule' },
    draw: (place) => {
      const [top, bottom] = [place.y(range.high), place.y(range.low)].map(coordinate);
      return `<path class="rule" d="M${coordinate(place.x(x))} ${top}V${bottom}"/>`;
    },
  };
}

/** Words at points, within the frame, each moved down or up until it covers none before it. */
export function notes(points: readonly (Point & { text: string })[]): Mark {
  return {
    colour: null,
    shape: 'dot',
    draw: (place) => {
      const taken: { x: number; y: number; half: number }[] = [];
      return points
        .map((point) => {
          const half = 4.1 * point.text.length + 4;
          const [left, right] = [
            place.x(Number.NEGATIVE_INFINITY),
            place.x(Number.POSITIVE_INFINITY),
          ];
          const x = Math.max(left + half, Math.min(right - half, place.x(point.x)));
          const wanted = place.y(point.y) - 9;
          const isFree = (y: number) =>
            taken.every((one) => Math.abs(one.y - y) > 15 || Math.abs(one.x - x) > one.half + half);
          let y = wanted;
          for (let step = 1; !isFree(y) && step < 40; step++) {
            y = wanted + (step % 2 === 1 ? 8 : -8) * Math.ceil(step / 2);
          }
          taken.push({ x, y, half });
          const middle = `x="${coordinate(x)}" y="${coordinate(y)}" text-anchor="middle"`;
          return `<text class="note" ${middle}>${escaped(point.text)}</text>`;
        })
        .join('');
    },
  };
}

export interface Tick {
  readonly value: number;
  readonly label: string;
}

export interface Scale {
  readonly from: number;
  readonly to: number;
  readonly ticks: readonly Tick[];
  /** Share of the way from `from` to `to`; values beyond them lie on the ends. */
  at(value: number): number;
}

const STEPS = [1, 2, 5, 10];

/** Equal steps; about so many ticks as `count`. `from` and `to` stay as they are. */
export function linearScale(from: number, to: number, count = 6): Scale {
  const end = to > from ? to : from + 1;
  const rough = (end - from) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * (STEPS.find((one) => one * power >= rough * 0.999) ?? 10);
  const ticks: Tick[] = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= end + step * 1e-9; i++) {
    ticks.push({ value: i * step, label: plain(i * step) });
  }
  return { from, to: end, ticks, at: (value) => within((value - from) / (end - from)) };
}

/** Powers of ten, and some between them where there is room. Values must be above 0. */
export function logScale(from: number, to: number): Scale {
  const end = to > from ? to : from * 10;
  const [low, high] = [Math.log(from), Math.log(end)];
  const decades = (high - low) / Math.LN10;
  const parts =
    decades > 4 ? [1] : decades > 2 ? [1, 3] : decades > 1 ? [1, 2, 5] : [1, 2, 3, 5, 7];
  const every = Math.max(1, Math.ceil(decades / 7));
  const ticks: Tick[] = [];
  for (let power = Math.floor(low / Math.LN10); power * Math.LN10 <= high + 1e-9; power++) {
    if (power % every !== 0) continue;
    for (const part of parts) {
      const value = Number((part * 10 ** power).toPrecision(3));
      if (value >= from * 0.999 && value <= end * 1.001) ticks.push({ value, label: plain(value) });
    }
  }
  const at = (value: number) => within((Math.log(value) - low) / (high - low));
  return { from, to: end, ticks, at };
}

function within(share: number): number {
  return Number.isNaN(share) ? 0 : Math.max(0, Math.min(1, share));
}
