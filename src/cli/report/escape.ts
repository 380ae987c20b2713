/**
 * Text of users in a page: escaped, without characters that no page may hold, and cut where it is
 * long. Whatever came from a file goes through here.
 */

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text for an element or an attribute in quotes. */
export function escaped(text: string): string {
  return text
    .replace(/\p{Cs}/gu, '\ufffd')
    .replace(/[&<>"']/g, (character) => ENTITIES[character])
    .replace(/\p{Cc}/gu, (character) => (/\s/.test(character) ? ' ' : '\ufffd'));
}

/** On one line, at most so many characters, the last of them a … where some are left out. */
export function shortened(text: string, most: number): string {
  const start = text
    .slice(0, 8 * most)
    .replace(/\s+/g, ' ')
    .trim();
  const characters = Array.from(start);
  if (characters.length <= most && text.length <= 8 * most) return start;
  return `${characters.slice(0, most - 1).join('')}…`;
}
