/** Examples of the docs: found in a page, run as the body of an async function, and what they print. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import ts from 'typescript';

export const root = fileURLToPath(new URL('../../', import.meta.url));

export function examplesOf(page: string): string[] {
  const text = readFileSync(join(root, page), 'utf8');
  return [...text.matchAll(/```[jt]s\n(.*?)```/gs)].map((match) => match[1]);
}

/** What the comments behind an example's console.log say. */
export function promisesOf(code: string): string[] {
  return [...code.matchAll(/console\.log\(.*\); \/\/ (.*)/g)].map((match) => match[1]);
}

export interface RunOptions {
  /** What `import { … } from 'name'` takes its names from. */
  modules: Record<string, object>;
  /** Folders and files of an example by the paths that stand for them. */
  paths: Record<string, string>;
}

/** The lines that an example prints. */
export async function printedBy(code: string, { modules, paths }: RunOptions): Promise<string[]> {
  let body = code.replaceAll(/import (\{[^}]*\}) from ('[^']*');/g, (_, names, module) => {
    return `const ${names.replaceAll(' as ', ': ')} = modules[${module}];`;
  });
  if (/^import /m.test(body)) throw new Error('an example imports in a way that cannot be run');
  for (const [from, to] of Object.entries(paths)) {
    for (const quote of ["'", '`']) body = body.replaceAll(`${quote}${from}`, `${quote}${to}`);
  }
  body = ts.transpileModule(body, {
    compilerOptions: { target: ts.ScriptTarget.ES2022 },
  }).outputText;
  const printed: string[] = [];
  const log = (...values: unknown[]) => {
    const text = values.map((value) => (typeof value === 'string' ? value : inspect(value)));
    printed.push(text.join(' '));
  };
  const AsyncFunction = (async () => {}).constructor as FunctionConstructor;
  await new AsyncFunction('modules', 'console', body)(modules, { log });
  return printed;
}
