/**
 * Texts to vectors by a sentence model, which the optional package `@huggingface/transformers` runs
 * in Node and in browsers. A model comes from a folder, without any network, or from the Hugging
 * Face Hub, of which the package keeps a copy. Vectors have length 1, by float32 weights; engines
 * may round differently.
 */

import { checkNames, messageOf } from '../base/check';
import { type LongCall, LongWork } from '../base/long-work';
import { checkTextModel, type DenseMatrix, POOLINGS, type TextModel } from '../vectors/vectors';

/** Limits of what the model takes at once: a run blocks the thread, in which no signal is heard. */
const BATCH = { texts: 32, characters: 16_384 } as const;

/** What is used of the package. */
interface Transformers {
  readonly env: { remoteHost: string; remotePathTemplate: string; fetch: typeof fetch };
  readonly AutoConfig: { from_pretrained(model: string, options: object): Promise<object> };
  pipeline(task: string, model: string, options: object): Promise<Extractor>;
}
type Extractor = (texts: string[], options: object) => Promise<{ data: Float32Array }>;
type Config = Readonly<Record<string, unknown>>;

/** Loads the package; the error for a missing one says what to install. */
async function loadTransformers(): Promise<Transformers> {
  // A variable, so bundlers do not try to resolve a package that may be missing.
  const name: string = '@huggingface/transformers';
  try {
    return await import(/* @vite-ignore */ /* webpackIgnore: true */ name);
  } catch (cause) {
    if (!isMissing(cause)) throw cause;
    const needed = `a package that is not installed: npm install ${name}`;
    throw new Error(`embed() needs ${needed}`, { cause });
  }
}

/** True for the error of a missing package: Node sets a code, browsers and bundlers a message. */
function isMissing(error: unknown): boolean {
  const { code = '', message = '' } = error as { code?: string; message?: string };
  return /MODULE_NOT_FOUND$/.test(code) || /resolve|cannot find|failed to/i.test(message);
}

/** A model that is loaded. */
export class Embedder {
  /** The model that was asked for last: the next query does not load it again. */
  static #last: { readonly key: string; readonly embedder: Promise<Embedder> } | null = null;

  private constructor(
    private readonly run: (texts: string[]) => Promise<Float32Array>,
    /** The model, with its pooling and, on the Hub, its revision. */
    readonly model: TextModel,
    readonly dimensions: number,
  ) {}

  /** Loads a model, unless it was loaded last. */
  static of(given: string | TextModel): Promise<Embedder> {
    const model = checkTextModel(given);
    const key = JSON.stringify([model.model, model.revision, model.pooling]);
    if (Embedder.#last?.key === key) return Embedder.#last.embedder;
    const embedder = Embedder.#load(model).catch((cause) => {
      if (Embedder.#last?.key === key) Embedder.#last = null;
      throw cause;
    });
    Embedder.#last = { key, embedder };
    return embedder;
  }

  static async #load({ model, revision = 'main', pooling }: TextModel): Promise<Embedder> {
    const library = await loadTransformers();
    const source = isFolder(model) ? { local_files_only: true } : { revision };
    try {
      const how = pooling ?? poolingIn(await poolingConfig(library, model, revision));
      const extract = await library.pipeline('feature-extraction', model, {
        dtype: 'fp32',
        ...source,
      });
      const run = async (texts: string[]) =>
        (await extract(texts, { pooling: how, normalize: true })).data;
      const own = { model, ...(!isFolder(model) && { revision }), pooling: how };
      return new Embedder(run, own, (await run([''])).length);
    } catch (cause) {
      throw new Error(`the model ${model} cannot be loaded: ${messageOf(cause)}`, { cause });
    }
  }

  /** A vector for each text. Texts of one length run together, so that few tokens are padding. */
  async vectorsOf(texts: readonly string[], work: LongWork): Promise<DenseMatrix> {
    const { dimensions } = this;
    const values = new Float32Array(texts.length * dimensions);
    const order = [...texts.keys()].sort((a, b) => texts[b].length - texts[a].length || a - b);
    for (let from = 0; from < order.length; ) {
      const fitting = Math.floor(BATCH.characters / Math.max(1, texts[order[from]].length));
      const rows = order.slice(from, from + Math.max(1, Math.min(BATCH.texts, fitting)));
      const made = await this.run(rows.map((row) => texts[row]));
      rows.forEach((row, i) => {
        values.set(made.subarray(i * dimensions, (i + 1) * dimensions), row * dimensions);
      });
      from += rows.length;
      await work.step(from, order.length);
    }
    return { values, dimensions };
  }
}

/** A name on the Hub begins with a letter or a digit, and has no colon. */
const isFolder = (model: string) => /^([./\\]|[a-z]:[\\/])/i.test(model);

const ADVICE = `give "pooling": ${POOLINGS.join(', ')}`;

/** The file in which a model says its pooling; empty where there is none. No copy of it is kept. */
async function poolingConfig(
  { AutoConfig, env }: Transformers,
  model: string,
  revision: string,
): Promise<Config> {
  if (isFolder(model)) {
    const folder = `${model}/1_Pooling`;
    const read = AutoConfig.from_pretrained(folder, { local_files_only: true });
    return (await read.catch(() => ({}))) as Config;
  }
  const path = env.remotePathTemplate
    .replaceAll('{model}', model)
    .replaceAll('{revision}', revision);
  const response = await env
    .fetch(`${env.remoteHost}${path}1_Pooling/config.json`)
    .catch((error) => ({ ok: false, status: messageOf(error), json: () => ({}) }));
  if (response.ok || response.status === 404) return response.ok ? response.json() : {};
  throw new Error(`its pooling cannot be read (${response.status}): ${ADVICE}`);
}

/** The pooling that such a file says. */
function poolingIn(config: Config): TextModel['pooling'] {
  const modes = Object.keys(config).filter((name) => /^pooling_mode_/.test(name) && config[name]);
  const known = { mean_tokens: 'mean', cls_token: 'cls', lasttoken: 'last_token' } as const;
  const [found = 'mean'] = modes.map((name) => known[name.slice(13) as keyof typeof known] ?? null);
  if (modes.length < 2 && found !== null) return found;
  throw new Error(`it has another pooling (${modes.join(', ')}): ${ADVICE}`);
}

/**
 * Vectors of texts, of length 1, by a sentence model, which the optional package
 * `@huggingface/transformers` runs. Texts longer than the model takes are cut.
 *
 * @example
 * const model = 'Xenova/all-MiniLM-L6-v2'; // or a folder: './all-MiniLM-L6-v2'
 * const { values, dimensions } = await embed(['a cat on a mat', 'a dog'], model);
 * console.log(values.length / dimensions); // 2
 */
export async function embed(
  texts: readonly string[],
  model: string | TextModel,
  options?: LongCall,
): Promise<DenseMatrix> {
  checkNames('texts', texts);
  const work = LongWork.of(options);
  return (await Embedder.of(model)).vectorsOf(texts, work);
}
