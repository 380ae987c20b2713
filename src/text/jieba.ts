/** Chinese words by jieba's dictionary: by the native package where it is installed, else wasm. */

import { loadOptional } from './optional';
import { named, normal, type Tokens } from './tokens';

type Cut = (text: string, isNewGuessed: boolean) => string[];

/** A word has a letter or a digit. */
const IS_WORD = /[\p{L}\p{N}]/u;

/** Loads jieba; whoever has neither package gets an error that says so. */
export async function jieba(): Promise<Tokens> {
  const { name, module } = await loadOptional('jieba()', ['@node-rs/jieba', 'jieba-wasm']);
  const cut = name === 'jieba-wasm' ? await wasmCut(module) : await nativeCut(module);
  return named('jieba', (text) => cut(normal(text), true).filter((word) => IS_WORD.test(word)));
}

async function wasmCut(module: Record<string, unknown>): Promise<Cut> {
  // The web build is to be initialized, Node's is already.
  if (typeof module.default === 'function') await (module.default as () => Promise<void>)();
  const { cut } = 'cut' in module ? module : (module.default as Record<string, unknown>);
  return cut as Cut;
}

async function nativeCut({ Jieba }: Record<string, unknown>): Promise<Cut> {
  const { module } = await loadOptional('jieba()', ['@node-rs/jieba/dict.js']);
  const { withDict } = Jieba as { withDict(dict: unknown): { cut: Cut } };
  const made = withDict.call(Jieba, module.dict);
  return (text, isNewGuessed) => made.cut(text, isNewGuessed);
}
