// A long-lived child that answers one JSON request a line. The child takes its own times, so the pipe
// is not in them, and several children can take turns.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

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
