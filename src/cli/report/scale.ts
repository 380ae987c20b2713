/**
 * From values to places along an axis, and the values that are written beside it: in equal steps of
 * 1, 2 or 5, or by powers of ten. Logarithms are for pictures alone; no code is made by them.
 */

import { plain } from './numbers';

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
