/**
 * Charts as SVG text: a frame with axes and a key, and marks in it. A chart has a title and a
 * description for those who do not see it; its colours are the page's, light or dark.
 *
 * No plot library: Observable Plot needs a DOM where there is none, and 88 KB of script in a page
 * that is read without scripts; what is drawn here are lines, bands, bars and dots.
 */

import { columnsOfText, plain } from '../output/figures';
import { escaped } from './page';

/** A scale and what it measures. */
export interface Axis {
  readonly scale: Scale;
  /** Without one, neither ticks nor a grid are drawn. */
  readonly label?: string;
}

/** From values to the picture's own units. */
interface Place {
  x(value: number): number;
  y(value: number): number;
}

/** How a mark is drawn, by its function below, and shown in the key. */
interface Look {
  /** For the key; without, it is not in it. */
  readonly name?: string;
  /** Position in the palette; null for grey. */
  readonly colour: number | null;
}

type Kind = 'line' | 'area' | 'dot' | 'rule';
type Tag = 'path' | 'rect' | 'circle';
/** Makes an SVG element in the look of a mark; a pointer over it shows its title. */
type Put = (tag: Tag, attributes: string, title?: string) => string;

/** Something drawn in a chart; the functions below make them. */
export interface Mark {
  readonly name: string | undefined;
  /** SVG elements. */
  draw(place: Place): string;
  /** A sample for the key, 24 units wide from `x` on. */
  sample(x: number): string;
}

/** What a chart shows; sizes are in units of the picture. */
export interface ChartOptions {
  /** A word for the chart, one a page: its elements are named by it. */
  readonly name: string;
  readonly title: string;
  /** What it shows, in a sentence or two. */
  readonly description: string;
  readonly marks: readonly Mark[];
  readonly x: Axis;
  readonly y: Axis;
  readonly width?: number;
  readonly height?: number;
}

/** Colours of the palette, which the page's style gives: told apart without red and green. */
const COLOURS = 8;
const MARGIN = { top: 40, right: 20, bottom: 50, left: 84, bare: 20 } as const;
/** Width of a letter of the key, about. */
const LETTER = 7.2;

/** An `<svg>` element. */
export function chart(options: ChartOptions): string {
  const { name, title, description, marks, x, y, width = 720, height = 360 } = options;
  const isBare = x.label === undefined;
  const [left, right] = [isBare ? MARGIN.bare : MARGIN.left, width - MARGIN.right];
  const [top, bottom] = [MARGIN.top, height - (isBare ? MARGIN.bare : MARGIN.bottom)];
  const place: Place = {
    x: (value) => left + x.scale.at(value) * (right - left),
    y: (value) => bottom - y.scale.at(value) * (bottom - top),
  };
  const [middleX, middleY] = [(left + right) / 2, (top + bottom) / 2];
  return [
    `<svg class="chart" id="${name}" viewBox="0 0 ${width} ${height}" role="img"`,
    ` aria-labelledby="${name}-title ${name}-description">`,
    `<title id="${name}-title">${escaped(title)}</title>`,
    `<desc id="${name}-description">${escaped(description)}</desc>`,
    `<rect class="frame" x="${left}" y="${top}" width="${right - left}" height="${bottom - top}"/>`,
    ...axis(x, `x="${middleX}" y="${height - 10}"`, (value) => {
      const at = short(place.x(value));
      return [`M${at} ${top}V${bottom}`, `x="${at}" y="${bottom + 18}" text-anchor="middle"`];
    }),
    ...axis(y, `transform="translate(16 ${middleY}) rotate(-90)"`, (value) => {
      const at = place.y(value);
      const label = `x="${left - 8}" y="${short(at + 4)}" text-anchor="end"`;
      return [`M${left} ${short(at)}H${right}`, label];
    }),
    ...marks.map((one) => one.draw(place)),
    key(marks, left),
    '</svg>',
  ].join('');
}

/** The grid, the ticks and the label of an axis; `tick` places a line and a number for a value. */
function axis(
  { scale, label }: Axis,
  labelPlace: string,
  tick: (value: number) => [path: string, place: string],
): string[] {
  if (label === undefined) return [];
  const ticks = scale.ticks.map(({ value, label: text }) => {
    const [path, place] = tick(value);
    return `<path class="grid" d="${path}"/><text ${place}>${text}</text>`;
  });
  const text = `<text class="label" ${labelPlace} text-anchor="middle">${escaped(label)}</text>`;
  return [...ticks, text];
}

/** Names of the marks next to their samples, in a line above the frame. */
function key(marks: readonly Mark[], left: number): string {
  let at = left;
  return marks
    .map(({ name, sample }) => {
      if (name === undefined) return '';
      const from = at;
      at += 30 + LETTER * columnsOfText(name) + 18;
      return `${sample(from)}<text x="${short(from + 30)}" y="24">${escaped(name)}</text>`;
    })
    .join('');
}

/** A coordinate, short and the same everywhere. */
const short = (value: number) => String(Math.round(value * 10) / 10);

/** The elements of the shapes that a key has, at a place in its line. */
const SAMPLES: Record<Kind, (x: number) => [tag: Tag, attributes: string]> = {
  line: (x) => ['path', `d="M${short(x)} 19.5h24"`],
  area: (x) => ['rect', `x="${short(x)}" y="13" width="24" height="13"`],
  dot: (x) => ['circle', `cx="${short(x + 12)}" cy="19.5" r="5"`],
  rule: (x) => ['path', `d="M${short(x + 12)} 11V28"`],
};

/** A mark whose elements are of a class: a kind of sample, and words that style it. */
function mark(
  shape: `${Kind}${'' | ' dashed' | ' bar'}`,
  { colour, name }: Look,
  draw: (place: Place, put: Put) => string,
): Mark {
  const look = colour === null ? 'grey' : `c${colour % COLOURS}`;
  const put: Put = (tag, attributes, title) => {
    const start = `<${tag} class="${shape} ${look}" ${attributes}`;
    return title === undefined
      ? `${start}/>`
      : `${start}><title>${escaped(title)}</title></${tag}>`;
  };
  const kind = shape.split(' ')[0] as Kind;
  const sample = (x: number) => {
    const [tag, attributes] = SAMPLES[kind](x);
    return put(tag, attributes);
  };
  return { name, sample, draw: (place) => draw(place, put) };
}

/** A point by its values, not by its place in the picture. */
export interface Point {
  readonly x: number;
  readonly y: number;
  /** Shown while the pointer is over it. */
  readonly title?: string;
}

/** A path through points; empty without any. */
function path(points: readonly Point[], place: Place, put: Put, end = ''): string {
  const steps = points.map(({ x, y }) => `${short(place.x(x))} ${short(place.y(y))}`);
  return points.length === 0 ? '' : put('path', `d="M${steps.join('L')}${end}"`);
}

/** A line through points in their order. */
export function line(
  points: readonly Point[],
  { isDashed = false, ...look }: Look & { isDashed?: boolean },
): Mark {
  return mark(isDashed ? 'line dashed' : 'line', look, (place, put) => path(points, place, put));
}

/** The area between a lower and an upper line. */
export function band(
  points: readonly { x: number; low: number; high: number }[],
  look: Look,
): Mark {
  const up = points.map(({ x, high }) => ({ x, y: high }));
  const back = points.map(({ x, low }) => ({ x, y: low })).reverse();
  return mark('area', look, (place, put) => path([...up, ...back], place, put, 'Z'));
}

/** Bars from 0, each from `from` to `to`. Empty ones are not drawn. */
export function bars(
  entries: readonly { from: number; to: number; y: number; title?: string }[],
  look: Look,
): Mark {
  const shown = entries.filter(({ y }) => y > 0);
  const bar = ({ from, to, y, title }: (typeof shown)[number], place: Place, put: Put) => {
    const [left, right, top, bottom] = [place.x(from), place.x(to), place.y(y), place.y(0)];
    const size = `width="${short(Math.max(1, right - left - 1))}" height="${short(bottom - top)}"`;
    return put('rect', `x="${short(left)}" y="${short(top)}" ${size}`, title);
  };
  return mark('area bar', look, (place, put) => shown.map((one) => bar(one, place, put)).join(''));
}

/** A dot a point. */
export function dots(
  points: readonly Point[],
  { radius = 4, ...look }: Look & { radius?: number },
): Mark {
  const dot = ({ x, y, title }: Point, place: Place, put: Put) =>
    put('circle', `cx="${short(place.x(x))}" cy="${short(place.y(y))}" r="${radius}"`, title);
  return mark('dot', look, (place, put) => points.map((one) => dot(one, place, put)).join(''));
}

/** A vertical line through the whole chart, named in the key. */
export function rule(x: number, name: string): Mark {
  return mark('rule', { name, colour: null }, (place, put) => {
    const [top, bottom] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY].map(place.y);
    return put('path', `d="M${short(place.x(x))} ${short(top)}V${short(bottom)}"`);
  });
}

/** Words at points, within the frame, each moved down or up until it covers none before it. */
export function notes(points: readonly (Point & { text: string })[]): Mark {
  return mark('dot', { colour: null }, (place) => {
    const taken: { x: number; y: number; half: number }[] = [];
    const [left, right] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY].map(place.x);
    return points
      .map((point) => {
        const half = 4.1 * columnsOfText(point.text) + 4;
        const x = Math.max(left + half, Math.min(right - half, place.x(point.x)));
        const wanted = place.y(point.y) - 9;
        const isFree = (y: number) =>
          taken.every((one) => Math.abs(one.y - y) > 15 || Math.abs(one.x - x) > one.half + half);
        let y = wanted;
        for (let step = 1; !isFree(y) && step < 40; step++) {
          y = wanted + (step % 2 === 1 ? 8 : -8) * Math.ceil(step / 2);
        }
        taken.push({ x, y, half });
        const middle = `x="${short(x)}" y="${short(y)}" text-anchor="middle"`;
        return `<text class="note" ${middle}>${escaped(point.text)}</text>`;
      })
      .join('');
  });
}

/** A value that the axis names. */
interface Tick {
  readonly value: number;
  readonly label: string;
}

/** How values map to an axis; `linearScale` and `logScale` make one. */
export interface Scale {
  readonly from: number;
  readonly to: number;
  readonly ticks: readonly Tick[];
  /** Share of the way from `from` to `to`; values beyond them lie on the ends. */
  at(value: number): number;
}

/** A step between ticks is one of these times a power of ten. */
const STEPS = [1, 2, 5, 10];

/** Equal steps; about so many ticks as `count`. `from` and `to` stay as they are. */
export function linearScale(from: number, to: number, count = 6): Scale {
  const end = to > from ? to : from + 1;
  const rough = (end - from) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * (STEPS.find((one) => one * power >= rough * 0.999) ?? 10);
  const [first, last] = [Math.ceil(from / step - 1e-9), Math.floor(end / step + 1e-9)];
  const values = Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step);
  return scaled(values, { from, to: end, at: (value) => (value - from) / (end - from) });
}

/** Steps of a power of ten that are named where an axis has so many powers, or fewer. */
const PARTS: readonly (readonly [powers: number, parts: readonly number[]])[] = [
  [1, [1, 2, 3, 5, 7]],
  [2, [1, 2, 5]],
  [4, [1, 3]],
  [Number.POSITIVE_INFINITY, [1]],
];

/** Powers of ten, and some between them where there is room. Values must be above 0. */
export function logScale(from: number, to: number): Scale {
  const end = to > from ? to : from * 10;
  const [low, high] = [Math.log10(from), Math.log10(end)];
  const every = Math.max(1, Math.ceil((high - low) / 7));
  const [, parts] = PARTS.find(([powers]) => high - low <= powers) ?? PARTS[3];
  const values: number[] = [];
  for (let power = Math.floor(low); power <= high + 1e-9; power++) {
    if (power % every === 0) values.push(...parts.map((part) => Number(`${part}e${power}`)));
  }
  const shown = values.filter((value) => value >= from * 0.999 && value <= end * 1.001);
  return scaled(shown, { from, to: end, at: (value) => (Math.log10(value) - low) / (high - low) });
}

/** A scale with labels, whose shares are between 0 and 1: NaN, of a logarithm, is 0. */
function scaled(values: readonly number[], { from, to, at }: Omit<Scale, 'ticks'>): Scale {
  const ticks = values.map((value) => ({ value, label: plain(value) }));
  return { from, to, ticks, at: (value) => Math.max(0, Math.min(1, at(value) || 0)) };
}
