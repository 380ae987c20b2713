/** Numbers as people read them, on the page and in the command; the same in every locale. */

/** 1234567 as `1,234,567`. */
export function grouped(value: number | bigint): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** `1 row`, `12 rows`. */
export function counted(count: number, noun: string): string {
  return `${grouped(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** A similarity of at most so many digits, without the 0 before the point: `.832`, `1`, `−.05`. */
export function shareText(value: number, digits = 3): string {
  if (value >= 1 - 0.5 / 10 ** digits) return '1';
  if (Math.abs(value) < 0.5 / 10 ** digits) return '0';
  return value.toFixed(digits).replace('-', '−').replace('0.', '.');
}
