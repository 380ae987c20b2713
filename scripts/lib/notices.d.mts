import type { Plugin } from 'esbuild';

/** A plugin of esbuild that writes to `file` the notices of all builds that it has seen. */
export function noticesPlugin(file: string): Plugin;
/** The folders of packages of which a build has bytes in an output. */
export function packageFolders(metafile: {
  outputs: Record<string, { inputs: Record<string, { bytesInOutput: number }> }>;
}): string[];
