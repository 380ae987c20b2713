export const calls: unknown[];
export function vectorOf(text: string, pooling: string): number[];
