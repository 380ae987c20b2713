/**
 * Colours of the map: for categories eight that colour-blind people can distinguish (after Okabe &
 * Ito 2008), in other shades on light and dark pages; for numbers a range from dark to light
 * (cividis, Nuñez et al. 2018).
 */

import type { Colour } from './scatter';

/** The eight on light pages, on dark pages, and the range, as hexadecimal digits. */
const LIGHT = ['0072b2', 'e08a00', '009e73', 'c75b9b', 'd55e00', '3fa7dc', '7a5bb5', '8a8a00'];
const DARK = ['4c9fe0', 'f2a93b', '35c79a', 'e58cc0', 'f07f3c', '7fd0f5', 'b49be8', 'd0cc4a'];
const RANGE = ['00224e', '35456c', '666970', '948e77', 'c8b866', 'fee838'].map(colourOf);
/** The colour of what has no category, or one of the less frequent. */
const GREY: Colour = [140, 144, 150];

/** A colour of six hexadecimal digits, with or without a #. */
export function colourOf(hex: string): Colour {
  const digits = hex.trim().replace('#', '');
  return [0, 2, 4].map((at) => Number.parseInt(digits.slice(at, at + 2), 16)) as unknown as Colour;
}

/** A colour in CSS. */
export const cssOf = (colour: Colour) => `rgb(${colour.join(' ')})`;

/** The eight colours of a light or a dark page. */
export function palette(isDark: boolean): readonly Colour[] {
  return (isDark ? DARK : LIGHT).map(colourOf);
}

/** Colours of categories in their order; a ninth one has the first colour, `other` is grey. */
export function categoryColours(names: readonly string[], isDark: boolean): Colour[] {
  const colours = palette(isDark);
  return names.map((name, i) => (name === 'other' ? GREY : colours[i % colours.length]));
}

/** 256 colours from the low end of a range to the high one. */
export function rangeColours(): Colour[] {
  return Array.from({ length: 256 }, (_, i) => {
    const along = (i / 255) * (RANGE.length - 1);
    const from = Math.min(RANGE.length - 2, Math.floor(along));
    const mix = (a: number) => {
      return Math.round(RANGE[from][a] + (along - from) * (RANGE[from + 1][a] - RANGE[from][a]));
    };
    return [mix(0), mix(1), mix(2)] as const;
  });
}

/**
 * A colour for each cluster, by the places of their middles: each takes the colour whose nearest
 * cluster among those before it is farthest away. Clusters of one colour are thus seldom
 * neighbours.
 */
export function clusterColours(
  middles: readonly (readonly [x: number, y: number])[],
  isDark: boolean,
): Colour[] {
  const colours = palette(isDark);
  const chosen: number[] = [];
  middles.forEach(([x, y], cluster) => {
    const nearest = colours.map((_, colour) =>
      middles
        .slice(0, cluster)
        .filter((_, other) => chosen[other] === colour)
        .reduce((least, [a, b]) => Math.min(least, (a - x) ** 2 + (b - y) ** 2), Infinity),
    );
    chosen.push(nearest.indexOf(Math.max(...nearest)));
  });
  return chosen.map((colour) => colours[colour]);
}
