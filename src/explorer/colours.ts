/**
 * Colours of the map: eight that colour-blind people tell apart (after Okabe & Ito 2008), and for
 * numbers a range from dark to light (cividis, Nuñez et al. 2018). Light and dark pages have own
 * shades of the eight.
 */

import type { Colour } from './scatter';

const LIGHT = ['0072b2', 'e08a00', '009e73', 'c75b9b', 'd55e00', '3fa7dc', '7a5bb5', '8a8a00'];
const DARK = ['4c9fe0', 'f2a93b', '35c79a', 'e58cc0', 'f07f3c', '7fd0f5', 'b49be8', 'd0cc4a'];
const RANGE = ['00224e', '35456c', '666970', '948e77', 'c8b866', 'fee838'].map(colourOf);
/** What has no category, and none of the first ones. */
const GREY: Colour = [140, 144, 150];

/** A colour of six hexadecimal digits, with or without a #. */
export function colourOf(hex: string): Colour {
  const digits = hex.trim().replace('#', '');
  return [0, 2, 4].map((at) => Number.parseInt(digits.slice(at, at + 2), 16)) as unknown as Colour;
}

/** The colour of a category as the page writes it. */
export const cssOf = (colour: Colour) => `rgb(${colour.join(' ')})`;

/** Colours of the page's theme. */
export function palette(isDark: boolean): readonly Colour[] {
  return (isDark ? DARK : LIGHT).map(colourOf);
}

/** Colours of categories in order; the ninth is as the first, `other` is grey. */
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

/** For each cluster a colour, so that clusters of one colour lie as far apart as they can. */
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
