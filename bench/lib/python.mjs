// The rivals that speak Python (FAISS, USearch, NumPy, PyArrow), in a long-lived child, so that we and
// they take turns. Its times are taken within Python: the pipe is not in them. One thread each.

import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const bench = fileURLToPath(new URL('..', import.meta.url));
const ONE_THREAD = {
  OMP_NUM_THREADS: '1',
  OPENBLAS_NUM_THREADS: '1',
  MKL_NUM_THREADS: '1',
  ARROW_CPU_COUNT: '1',
};

/** A client of the rivals, or null, said loudly, where Python or its packages are missing. */
export async function openPython() {
  let python;
  try {
    python = environment();
  } catch (error) {
    console.error(String(error.stderr || error.message).trim());
    const loud = '**NO PYTHON**: the rivals FAISS, USearch, NumPy and PyArrow are missing here.';
    console.error(loud);
    console.log(`\n${loud}`);
    return null;
  }
  return new Python(python);
}

/** The interpreter of bench/.venv, made on demand; BENCH_PYTHON names one to use as it is. */
function environment() {
  if (process.env.BENCH_PYTHON) {
    const imports = ['-c', 'import faiss, numpy, pyarrow, usearch'];
    execFileSync(process.env.BENCH_PYTHON, imports, { stdio: ['ignore', 'ignore', 'pipe'] });
    return process.env.BENCH_PYTHON;
  }
  const folder = join(bench, '.venv');
  const python = join(folder, 'bin/python');
  const wanted = readFileSync(join(bench, 'requirements.txt'), 'utf8');
  const stamp = join(folder, 'requirements.txt');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return python;
  console.error('bench/.venv: installing requirements.txt ...');
  const options = { stdio: ['ignore', 'ignore', 'pipe'] };
  execFileSync('python3', ['-m', 'venv', '--clear', folder], options);
  const pip = ['-m', 'pip', 'install', '--quiet', '-r', join(bench, 'requirements.txt')];
  execFileSync(python, pip, options);
  writeFileSync(stamp, wanted);
  return python;
}

class Python {
  #child;
  #waiting = [];
  #folder = mkdtempSync(join(tmpdir(), 'halfspace-bench-'));

  constructor(python) {
    const stdio = ['pipe', 'pipe', 'inherit'];
    const env = { ...process.env, ...ONE_THREAD };
    this.#child = spawn(python, [join(bench, 'rivals.py')], { stdio, env });
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      const { resolve, reject } = this.#waiting.shift();
      const answer = JSON.parse(line);
      if (answer.error === undefined) resolve(answer);
      else reject(new Error(answer.error));
    });
    this.#child.on('exit', (code) => {
      for (const { reject } of this.#waiting) reject(new Error(`rivals.py ended with ${code}`));
    });
  }

  /** One request, one answer. Typed arrays travel as files, named in their place. */
  ask(verb, request = {}) {
    const sent = { verb };
    for (const [key, value] of Object.entries(request)) {
      sent[key] = ArrayBuffer.isView(value) ? this.#file(key, value) : value;
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#child.stdin.write(`${JSON.stringify(sent)}\n`);
    });
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
    this.#child.stdin.end();
    rmSync(this.#folder, { recursive: true });
  }
}
