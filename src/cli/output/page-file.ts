/**
 * The file of a page or of its data: named by -o, written whole or not at all. Whether it may be
 * written is checked before the work that fills it.
 */

import { openOutput } from '../../formats/file-io';
import type { Call } from '../call';

export class PageFile {
  /** Whether it holds data for machines, not a page. */
  readonly isData: boolean;

  private constructor(
    readonly path: string,
    private readonly options: { readonly force: boolean; readonly inputs: readonly string[] },
  ) {
    this.isData = path.endsWith('.json');
  }

  /**
   * The file of -o; null where that is stdout. Fails where the file exists and --force is not
   * given, where it is one of the inputs, and where it cannot be written.
   */
  static async named(call: Call, inputs: readonly string[]): Promise<PageFile | null> {
    const path = call.text('output');
    if (path === undefined || path === '-') return null;
    if (!/\.(html?|json)$/i.test(path)) {
      call.misuse(`-o expected a name that ends in .html or .json, got ${path}`);
    }
    const file = new PageFile(path, { force: call.has('force'), inputs });
    if (call.isJson && !file.isData) call.misuse('--json writes a .json file');
    await (await openOutput(path, file.options)).abort();
    return file;
  }

  async write(text: string): Promise<void> {
    const output = await openOutput(this.path, this.options);
    try {
      await output.write([new TextEncoder().encode(text)]);
      await output.close();
    } catch (error) {
      await output.abort();
      throw error;
    }
  }
}
