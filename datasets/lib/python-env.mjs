// A Python environment with pinned packages, made at the first use in a folder `.venv`.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const PIPED = { stdio: ['ignore', 'ignore', 'pipe'] };

/** The interpreter of `folder`/.venv, with what `folder`/requirements.txt lists; throws if none. */
export function pythonEnvironment(folder) {
  const path = (name) => fileURLToPath(new URL(name, folder));
  const python = path('.venv/bin/python');
  const wanted = readFileSync(path('requirements.txt'), 'utf8');
  const stamp = path('.venv/requirements.txt');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return python;
  console.error(`${path('.venv')}: installing requirements.txt ...`);
  execFileSync('python3', ['-m', 'venv', '--clear', path('.venv')], PIPED);
  const install = ['-m', 'pip', 'install', '--quiet', '-r', path('requirements.txt')];
  execFileSync(python, install, PIPED);
  writeFileSync(stamp, wanted);
  return python;
}
