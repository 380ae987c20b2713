/**
 * The value of an environment variable; '' where there is none, in a page, and in Deno without
 * --allow-env. Takes as long as hashing a word, so callers keep what they read.
 */
export function environmentOf(name: string): string {
  try {
    return globalThis.process?.env?.[name] ?? '';
  } catch {
    return '';
  }
}
