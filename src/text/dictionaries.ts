/**
 * Tokens and stop words by dictionaries of optional packages. A package is loaded when its function
 * is called, and the error for a missing one says what to install. Other versions of a dictionary
 * may split texts differently.
 */

import { wrongType, wrongValue } from '../base/check';
import { normal, type Tokenizer } from './tokens';

/** Loads the first of `packages` that is installed; `what` names the caller in the error. */
export async function loadOptional(
  what: string,
  packages: readonly string[],
): Promise<{ name: string; module: Record<string, unknown> }> {
  for (const name of packages) {
    try {
      // The name is a variable, so bundlers do not try to resolve a package that may be missing.
      return { name, module: await import(/* @vite-ignore */ /* webpackIgnore: true */ name) };
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
  throw new Error(`${what} needs a package that is not installed: npm install ${packages[0]}`);
}

/** True for the error of a missing package: Node sets a code, browsers and bundlers a message. */
function isMissing(error: unknown): boolean {
  const { code = '', message = '' } = error as { code?: string; message?: string };
  return /MODULE_NOT_FOUND$/.test(code) || /resolve|cannot find|failed to/i.test(message);
}

/**
 * The ISO 639-3 codes by which the package `stopword` names its lists, each with its ISO 639-1 code
 * where that is not its first two letters.
 */
const LANGUAGES = `
  afr ara ben:bn bre bul:bg cat ces:cs dan deu ell eng epo:eo est:et eus fas fin fra gle:ga glg guj
  hau heb hin hrv hun hye ind:id ita jpn:ja kor kur lat lav:lv lit:lt mar:mr msa mya nld nob pol:pl
  por:pt ron rus slk:sk slv som sot:st spa:es swa swe:sv tgl:tl tha tur:tr ukr urd vie yor zho zul`;

/**
 * The stop words of a language: 'en' or 'eng'.
 *
 * @example
 * const hasher = new TextHasher({ stopWords: await stopWords('en') });
 * console.log(hasher.keywords('a cup of the green tea').length); // 3
 */
export async function stopWords(language: string): Promise<readonly string[]> {
  if (typeof language !== 'string') throw wrongType('language', 'a code such as "en"', language);
  const { module } = await loadOptional('stopWords()', ['stopword']);
  const known = LANGUAGES.trim()
    .split(/\s+/)
    .map((codes) => codes.split(':'))
    .map(([three, two = three.slice(0, 2)]) => [three, two])
    .filter(([three]) => Array.isArray(module[three]));
  const [name = ''] = known.find((codes) => codes.includes(language)) ?? [];
  if (name !== '') return module[name] as string[];
  throw wrongValue('language', `one of ${known.map(([, two]) => two).join(', ')}`, language);
}

/** Splits a text by jieba; `guessesNewWords` also finds words that the dictionary does not have. */
type Cut = (text: string, guessesNewWords: boolean) => string[];

/** Matches a token with a letter or a digit: other tokens of jieba are spaces and punctuation. */
const IS_WORD = /[\p{L}\p{N}]/u;

/**
 * Chinese words by jieba's dictionary: `@node-rs/jieba` where installed, else `jieba-wasm`.
 *
 * @example
 * const hasher = new TextHasher({ tokens: await jieba() });
 * console.log(hasher.keywords('我们喝绿茶').map(({ word }) => word)); // [ '喝', '我们', '绿茶' ]
 */
export async function jieba(): Promise<Tokenizer> {
  const { name, module } = await loadOptional('jieba()', ['@node-rs/jieba', 'jieba-wasm']);
  const cut = name === 'jieba-wasm' ? await wasmCut(module) : await nativeCut(module);
  const split = (text: string) => cut(normal(text), true).filter((word) => IS_WORD.test(word));
  return Object.assign(split, { kind: 'jieba' });
}

async function wasmCut(module: Record<string, unknown>): Promise<Cut> {
  // The build for browsers must be initialized by its default export; Node's has none to call.
  if (typeof module.default === 'function') await (module.default as () => Promise<void>)();
  const { cut } = 'cut' in module ? module : (module.default as Record<string, unknown>);
  return cut as Cut;
}

async function nativeCut({ Jieba }: Record<string, unknown>): Promise<Cut> {
  const { module } = await loadOptional('jieba()', ['@node-rs/jieba/dict.js']);
  const { withDict } = Jieba as { withDict(dict: unknown): { cut: Cut } };
  const made = withDict.call(Jieba, module.dict);
  return (text, guessesNewWords) => made.cut(text, guessesNewWords);
}
