// The rivals that speak Python, each script of bench/python in a long-lived child, so that we and they
// take turns. One thread each.

import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { pythonEnvironment } from '../../datasets/lib/python-env.mjs';

const bench = new URL('..', import.meta.url);
const ONE_THREAD = {
  OMP_NUM_THREADS: '1',
  OPENBLAS_NUM_THREADS: '1',
  MKL_NUM_THREADS: '1',
  ARROW_CPU_COUNT: '1',
};

/** A client of python/codes.py, or null, said loudly, where Python or its packages are missing. */
export async function openPython() {
  const python = findPython();
  return python === null ? null : new Python(python);
}

/** A child that runs a script of bench/python. */
export function pythonChild(python, script) {
  return new JsonChild(python, [fileURLToPath(new URL(`python/${script}`, bench))], ONE_THREAD);
}

/**
 * The interpreter of bench/.venv, made on demand, or null; BENCH_PYTHON names one to use as it is,
 * which has these modules.
 */
export function findPython(modules = 'faiss, numpy, pyarrow, usearch') {
  try {
    if (!process.env.BENCH_PYTHON) return pythonEnvironment(bench);
    const imports = ['-c', `import ${modules}`];
    execFileSync(process.env.BENCH_PYTHON, imports, { stdio: ['ignore', 'ignore', 'pipe'] });
    return process.env.BENCH_PYTHON;
  } catch (error) {
    console.error(String(error.stderr || error.message).trim());
    const loud = '**NO PYTHON**: the rivals of requirements.txt are missing here.';
    console.error(loud);
    console.log(`\n${loud}`);
    return null;
  }
}

class Python {
  #child;
  #folder = mkdtempSync(join(tmpdir(), 'halfspace-bench-'));

  constructor(python) {
    this.#child = pythonChild(python, 'codes.py');
  }

  /** One request, one answer. Typed arrays travel as files, named in their place. */
  ask(verb, request = {}) {
    const sent = Object.entries(request).map(([key, value]) => [
      key,
      ArrayBuffer.isView(value) ? this.#file(key, value) : value,
    ]);
    return this.#child.ask(verb, Object.fromEntries(sent));
  }

  /** The codes of the first `count` vectors by 'faiss' or 'numpy', and their time. */
  async encode(engine, count) {
    const out = join(this.#folder, 'encoded');
    const { ms } = await this.ask('encode', { engine, count, out });
    return { ms, bytes: readFileSync(out) };
  }

  #file(key, values) {
    const path = join(this.#folder, key);
    writeFileSync(path, new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
    return path;
  }

  close() {
    this.#child.close();
    rmSync(this.#folder, { recursive: true });
  }
}

/**
 * A long-lived child that answers one JSON request a line. The child takes its own times, so the pipe
 * is not in them, and several children can take turns.
 */
export class JsonChild {
  #child;
  #name;
  #waiting = [];

  constructor(command, words, env = {}) {
    const stdio = ['pipe', 'pipe', 'inherit'];
    this.#name = words.join(' ');
    this.#child = spawn(command, words, { stdio, env: { ...process.env, ...env } });
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      const { resolve, reject } = this.#waiting.shift();
      const answer = JSON.parse(line);
      if (answer.error === undefined) resolve(answer);
      else reject(new Error(`${this.#name}: ${answer.error}`));
    });
    this.#child.on('exit', (code) => {
      for (const { reject } of this.#waiting) reject(new Error(`${this.#name} ended with ${code}`));
    });
  }

  /** One request, one answer; an error of the child is thrown here. */
  ask(verb, request = {}) {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#child.stdin.write(`${JSON.stringify({ verb, ...request })}\n`);
    });
  }

  close() {
    this.#child.stdin.end();
  }
}

/** In the child: answers requests by functions of these names, one after another. */
export async function serve(verbs) {
  for await (const line of createInterface({ input: process.stdin })) {
    const { verb, ...request } = JSON.parse(line);
    let answer;
    try {
      answer = await verbs[verb](request);
    } catch (error) {
      answer = { error: error.stack };
    }
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  }
}
