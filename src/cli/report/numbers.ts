/** Numbers in reports: shares, decimals and labels of axes, the same in every locale. */

import { grouped } from '../output/figures';

/** So many digits after the point; a zero has no sign. */
export function fixed(value: number, digits = 2): string {
  return value
    .toFixed(digits)
    .replace(/^-(0(?:\.0*)?)$/, '$1')
    .replace('-', '−');
}

/** Without digits that say nothing: 0.25, 3, 12,000. */
export function plain(value: number): string {
  const rounded = Number(value.toPrecision(6));
  if (Number.isInteger(rounded)) return `${rounded < 0 ? '−' : ''}${grouped(Math.abs(rounded))}`;
  return String(rounded).replace('-', '−');
}

/** A share in per cent, with a digit more where it is small; 100 % is all of them. */
export function percent(share: number): string {
  const value = 100 * share;
  if (value === 0 || value === 100) return `${value} %`;
  if (value < 0.01) return '< 0.01 %';
  if (value > 99.9) return '> 99.9 %';
  return `${value.toFixed(value < 1 ? 2 : 1)} %`;
}
