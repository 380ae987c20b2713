/** The natural logarithm of a number from 1 on, by + - * / alone: the same in every engine. */
export function logOf(value: number): number {
  let mantissa = value;
  let halvings = 0;
  for (; mantissa >= 2; halvings++) mantissa /= 2;
  // 2 artanh(z), z from 0 to 1/3: the terms fall by nine and more.
  const z = (mantissa - 1) / (mantissa + 1);
  const square = z * z;
  let sum = 0;
  for (let power = 35; power >= 1; power -= 2) sum = sum * square + 1 / power;
  return 2 * z * sum + halvings * Math.LN2;
}
