/**
 * Charts as SVG text: a frame with axes and a key, and marks in it. A chart has a title and a
 * description for those who do not see it; its colours are the page's, light or dark.
 *
 * No plot library: Observable Plot needs a DOM where there is none, and 88 KB of script in a page
 * that is read without scripts; what is drawn here are lines, bands, bars and dots.
 */

import { plain } from '../output/figures';
import { escaped } from './page';

/** A scale and what it measures. */
export interface Axis {
  readonly scale: Scale;
  /** Without one, neither ticks nor a grid are drawn. */
  readonly label?: string;
}

/** From values to the picture's own units. */
export interface Place {
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

/** Something drawn in a chart; the functions below make them. */
export interface Mark extends Look {
  /** How the key shows it. */
  readonly shape: 'line' | 'line dashed' | 'rule' | 'area' | 'area bar' | 'dot';
  /** SVG elements. */
  draw(place: Place): string;
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
      const at = coordinate(place.x(value));
      return [`M${at} ${top}V${bottom}`, `x="${at}" y="${bottom + 18}" text-anchor="middle"`];
    }),
    ...axis(y, `transform="translate(16 ${middleY}) rotate(-90)"`, (value) => {
      const at = place.y(value);
      const label = `x="${left - 8}" y="${coordinate(at + 4)}" text-anchor="end"`;
      return [`M${left} ${coordinate(at)}H${right}`, label];
    }),
    ...marks.map((mark) => mark.draw(place)),
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

/** Names of the marks next to their shapes, in a line above the frame. */
function key(marks: readonly Mark[], left: number): string {
  let at = left;
  return marks
    .map(({ name, colour, shape }) => {
      if (name === undefined) return '';
      const from = Number(coordinate(at));
      at += 30 + LETTER * name.length + 18;
      const [kind] = shape.split(' ');
      const samples: Record<string, string> = {
        area: element('rect', shape, colour, `x="${from}" y="13" width="24" height="13"`),
        dot: element('circle', shape, colour, `cx="${from + 12}" cy="19.5" r="5"`),
        rule: element('path', shape, colour, `d="M${from + 12} 11V28"`),
        line: element('path', shape, colour, `d="M${from} 19.5h24"`),
      };
      return `${samples[kind]}<text x="${coordinate(from + 30)}" y="24">${escaped(name)}</text>`;
    })
    .join('');
}

/** A coordinate, short and the same everywhere. */
function coordinate(value: number): string {
  return String(Math.round(value * 10) / 10);
}

/** An SVG element in a colour; a pointer over it shows its title. */
function element(
  tag: 'path' | 'rect' | 'circle',
  shape: Mark['shape'],
  colour: number | null,
  attributes: string,
  title?: string,
): string {
  const look = colour === null ? 'grey' : `c${colour % COLOURS}`;
  const start = `<${tag} class="${shape} ${look}" ${attributes}`;
  return title === undefined ? `${start}/>` : `${start}><title>${escaped(title)}</title></${tag}>`;
}

/** A point by its values, not by its place in the picture. */
export interface Point {
  readonly x: number;
  readonly y: number;
  /** Shown while the pointer is over it. */
  readonly title?: string;
}

/** A path through points, or nothing without any. */
function pathOf(points: readonly Point[], place: Place, end = ''): string {
  const steps = points.map(({ x, y }) => `${coordinate(place.x(x))} ${coordinate(place.y(y))}`);
  return `d="M${steps.join('L')}${end}"`;
}

/** A line through points in their order. */
export function line(
  points: readonly Point[],
  { isDashed = false, ...look }: Look & { isDashed?: boolean },
): Mark {
  const shape = isDashed ? 'line dashed' : 'line';
  const draw = (place: Place) =>
    points.length === 0 ? '' : element('path', shape, look.colour, pathOf(points, place));
  return { ...look, shape, draw };
}

/** The area between a lower and an upper line. */
export function band(
  points: readonly { x: number; low: number; high: number }[],
  look: Look,
): Mark {
  const up = points.map(({ x, high }) => ({ x, y: high }));
  const back = points.map(({ x, low }) => ({ x, y: low })).reverse();
  const draw = (place: Place) =>
    points.length === 0
      ? ''
      : element('path', 'area', look.colour, pathOf([...up, ...back], place, 'Z'));
  return { ...look, shape: 'area', draw };
}

/** Bars from 0, each from `from` to `to`. Empty ones are not drawn. */
export function bars(
  entries: readonly { from: number; to: number; y: number; title?: string }[],
  look: Look,
): Mark {
  const draw = (place: Place) =>
    entries
      .filter(({ y }) => y > 0)
      .map(({ from, to, y, title }) => {
        const [left, right, top, bottom] = [place.x(from), place.x(to), place.y(y), place.y(0)];
        const corner = `x="${coordinate(left)}" y="${coordinate(top)}"`;
        const width = coordinate(Math.max(1, right - left - 1));
        const size = `width="${width}" height="${coordinate(bottom - top)}"`;
        return element('rect', 'area bar', look.colour, `${corner} ${size}`, title);
      })
      .join('');
  return { ...look, shape: 'area bar', draw };
}

/** A dot a point. */
export function dots(
  points: readonly Point[],
  { radius = 4, ...look }: Look & { radius?: number },
): Mark {
  const draw = (place: Place) =>
    points
      .map(({ x, y, title }) => {
        const at = `cx="${coordinate(place.x(x))}" cy="${coordinate(place.y(y))}"`;
        return element('circle', 'dot', look.colour, `${at} r="${radius}"`, title);
      })
      .join('');
  return { ...look, shape: 'dot', draw };
}

/** A vertical line through the whole chart, named in the key. */
export function rule(x: number, name: string): Mark {
  const draw = (place: Place) => {
    const [top, bottom] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY].map(place.y);
    const path = `d="M${coordinate(place.x(x))} ${coordinate(top)}V${coordinate(bottom)}"`;
    return element('path', 'rule', null, path);
  };
  return { name, colour: null, shape: 'rule', draw };
}

/** Words at points, within the frame, each moved down or up until it covers none before it. */
export function notes(points: readonly (Point & { text: string })[]): Mark {
  const draw = (place: Place) => {
    const taken: { x: number; y: number; half: number }[] = [];
    const [left, right] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY].map(place.x);
    return points
      .map((point) => {
        const half = 4.1 * point.text.length + 4;
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
  };
  return { colour: null, shape: 'dot', draw };
}

/** A value that the axis names. */
export interface Tick {
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

/** A share between 0 and 1; NaN, of the logarithm of a negative value, is 0. */
function within(share: number): number {
  return Number.isNaN(share) ? 0 : Math.max(0, Math.min(1, share));
}
