/** A report to its file, whole or not at all; whether it may be written is known before work. */

import type { Call } from '../call';

export class PageFile {
  readonly #target: string;
  readonly #options: { force: boolean; inputs: readonly string[] };

  private constructor(target: string, options: { force: boolean; inputs: readonly string[] }) {
    this.#target = target;
    this.#options = options;
  }

  /** Fails where the file exists, is one of the inputs, or cannot be written. */
  static async checked(call: Call, target: string, inputs: readonly string[]): Promise<PageFile> {
    const { openOutput } = await import('../../formats/file-io');
    const options = { force: call.flag('force'), inputs };
    await (await openOutput(target, options)).abort();
    return new PageFile(target, options);
  }

  async write(text: string): Promise<void> {
    const { openOutput } = await import('../../formats/file-io');
    const output = await openOutput(this.#target, this.#options);
    try {
      await output.write([new TextEncoder().encode(text)]);
      await output.close();
    } catch (error) {
      await output.abort();
      throw error;
    }
  }
}
