// The packages of others whose code a build puts into its files, with their licences, as esbuild
// states them: THIRD-PARTY-NOTICES.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { root } from './checks.mjs';

/** The kernels have code of the library of AssemblyScript and of zstddec, which esbuild does not see. */
const ALWAYS = ['assemblyscript', 'zstddec'].map((name) => join(root, 'node_modules', name));

/** A plugin of esbuild that writes to `file` the notices of all builds that it has seen. */
export function noticesPlugin(file) {
  const folders = new Set(ALWAYS);
  return {
    name: 'notices',
    setup(build) {
      build.initialOptions.metafile = true;
      build.onEnd(({ metafile }) => {
        if (!metafile) return;
        for (const folder of packageFolders(metafile)) folders.add(folder);
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, noticesOf([...folders]));
      });
    },
  };
}

/** The folders of packages of which a build has bytes in an output. */
export function packageFolders({ outputs }) {
  const folders = Object.values(outputs).flatMap(({ inputs }) =>
    Object.entries(inputs)
      .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
      .flatMap(([path]) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path) ?? []),
  );
  return [...new Set(folders)].map((folder) => resolve(folder));
}

/** Name, version, licence and its text of each package, in the order of their names. */
function noticesOf(folders) {
  const seen = new Map();
  const once = (text, name) => {
    if (!seen.has(text)) seen.set(text, name);
    return seen.get(text) === name ? text : `The text is that of ${seen.get(text)}.`;
  };
  const parts = new Map(
    folders.sort().map((folder) => {
      const { name, version, license } = JSON.parse(
        readFileSync(join(folder, 'package.json'), 'utf8'),
      );
      const files = readdirSync(folder).filter((file) => /^(licen[cs]e|notice)\b/i.test(file));
      const texts = files.sort().map((file) => readFileSync(join(folder, file), 'utf8').trim());
      if (texts.length === 0) texts.push(licenceInReadme(folder, name));
      return [
        name,
        [`${name} ${version} (${license})`, ...texts.map((one) => once(one, name))].join('\n\n'),
      ];
    }),
  );
  const names = [...parts.keys()].sort();
  const line = `\n\n${'-'.repeat(80)}\n\n`;
  const head = 'Files of this package contain code of these packages, under these licences.';
  return `${[head, ...names.map((name) => parts.get(name))].join(line)}\n`;
}

function licenceInReadme(folder, name) {
  const readme = join(folder, 'README.md');
  const text = existsSync(readme) ? readFileSync(readme, 'utf8') : '';
  const [, licence] = /^#* *licen[cs]e[^\n]*\n(?:-+\n)?(.*)/ims.exec(text) ?? [];
  if (!licence?.includes('Permission is hereby granted')) {
    throw new Error(`${name} has no licence text, so its code cannot be part of the package`);
  }
  return licence.trim();
}
