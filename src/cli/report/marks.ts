/** What a chart draws: lines, bands, bars, dots and notes. A title on a mark shows on hovering. */

import { colourClass, coordinate, type Mark, type Place } from './chart';
import { escaped } from './escape';

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
