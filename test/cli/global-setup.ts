import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'tsup';
import type { TestProject } from 'vitest/node';
import { command, page } from '../../tsup.config';
import buildWorker from '../threads/build-worker';

const root = fileURLToPath(new URL('../..', import.meta.url));
const cache = join(root, 'node_modules/.cache/halfspace-test');
const DAY_MILLISECONDS = 24 * 3600 * 1000;

declare module 'vitest' {
  export interface ProvidedContext {
    /** The built command's entry. */
    command: string;
  }
}

/** Builds the command as tests run it, once for each state of the sources. */
export default async function setup(project: TestProject): Promise<void> {
  buildWorker();
  const built = join(cache, digestOfSources());
  await mkdir(cache, { recursive: true });
  if (!existsSync(built)) {
    const folder = await mkdtemp(join(cache, 'building-'));
    // With the Arrow library in the bundle a child process starts in two thirds of the time.
    const noExternal = [/^(apache-arrow|flatbuffers|tslib|json-with-bigint)\b/];
    const options = { outDir: folder, config: false, silent: true, noExternal } as const;
    // Most tests run `command` in their own process.
    const entry = { cli: 'src/cli/main.ts', command: 'src/cli/command.ts' };
    await build({ ...command, ...options, entry, platform: 'node' });
    await build({ ...page, outDir: folder, config: false, silent: true });
    await rename(folder, built).catch(() => rm(folder, { recursive: true }));
  }
  await removeOld();
  project.provide('command', join(built, 'cli.js'));
}

function digestOfSources(): string {
  const hash = createHash('sha256');
  const src = join(root, 'src');
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
    .map((file) => join(src, file))
    .filter((file) => statSync(file).isFile())
    .sort();
  for (const file of [...files, join(root, 'tsup.config.ts'), join(root, 'package.json')]) {
    hash.update(`${file}\n`).update(readFileSync(file));
  }
  return hash.digest('hex').slice(0, 16);
}

async function removeOld(): Promise<void> {
  for (const name of readdirSync(cache)) {
    const folder = join(cache, name);
    const age = Date.now() - (await stat(folder)).mtimeMs;
    if (age > DAY_MILLISECONDS) await rm(folder, { recursive: true, force: true });
  }
}
