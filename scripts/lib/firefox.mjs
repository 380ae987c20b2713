// A headless Firefox, as Debian's package firefox-esr installs it, driven by the protocol of WebDriver
// that it speaks itself (Marionette): a message is its length, a colon and JSON. No other program is
// needed for it.

import { spawn } from 'node:child_process';
import { access, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

const executablePath = process.env.FIREFOX ?? '/usr/bin/firefox-esr';
/** Tenths of a second until it must listen. */
const MAX_WAIT = 600;
const SCRIPT_MS = 300_000;

/** Starts a Firefox; `run(url, expression)` is the value of a promise in the script of a page. */
export async function openFirefox() {
  await access(executablePath).catch(() => {
    throw new Error(
      `no Firefox at ${executablePath}: install it with "apt-get install firefox-esr", or name another one in the environment variable FIREFOX`,
    );
  });
  const profile = await mkdtemp(join(tmpdir(), 'halfspace-firefox-'));
  await writeFile(join(profile, 'user.js'), 'user_pref("marionette.port", 0);\n');
  const child = spawn(executablePath, ['--headless', '--marionette', '--profile', profile], {
    stdio: 'ignore',
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  let socket;
  async function close() {
    socket?.destroy();
    child.kill();
    await ended;
    await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  }
  try {
    socket = connect(await portOf(profile, child), '127.0.0.1');
    const call = callsOver(socket);
    const { capabilities } = await call('WebDriver:NewSession', {});
    await call('WebDriver:SetTimeouts', { script: SCRIPT_MS });
    const run = async (url, expression) => {
      await call('WebDriver:Navigate', { url });
      const script = `const done = arguments[0];
        const ask = async () => {
          while (window.packed === undefined) await new Promise((go) => setTimeout(go, 50));
          return JSON.stringify({ value: await window.eval(${JSON.stringify(expression)}) });
        };
        ask().catch((error) => JSON.stringify({ error: String(error) })).then(done);`;
      const { value } = await call('WebDriver:ExecuteAsyncScript', { script, args: [] });
      const answer = JSON.parse(value);
      if (answer.error !== undefined) throw new Error(answer.error);
      return answer.value;
    };
    return { version: capabilities.browserVersion, run, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The port on which it listens, which it writes into its profile. */
async function portOf(profile, child) {
  for (let wait = 0; wait < MAX_WAIT && child.exitCode === null; wait++) {
    const port = await readFile(join(profile, 'MarionetteActivePort'), 'utf8').catch(() => '');
    if (port !== '') return Number(port);
    await setTimeout(100);
  }
  throw new Error(`${executablePath} does not listen`);
}

/** Calls over a connection, one after another: `call(name, parameters)`. */
function callsOver(socket) {
  const answers = new Map();
  let bytes = Buffer.alloc(0);
  socket.on('data', (more) => {
    bytes = Buffer.concat([bytes, more]);
    for (;;) {
      const colon = bytes.indexOf(':');
      const end = colon + 1 + Number(bytes.subarray(0, Math.max(0, colon)));
      if (colon < 0 || bytes.length < end) return;
      const message = JSON.parse(bytes.subarray(colon + 1, end));
      bytes = bytes.subarray(end);
      if (!Array.isArray(message)) continue; // the greeting
      const [, id, error, result] = message;
      const { resolve, reject } = answers.get(id);
      if (error === null) resolve(result);
      else reject(new Error(`${error.error}: ${error.message}`));
    }
  });
  socket.on('error', (error) => {
    for (const { reject } of answers.values()) reject(error);
  });
  return (name, parameters) =>
    new Promise((resolve, reject) => {
      const id = answers.size;
      answers.set(id, { resolve, reject });
      const text = JSON.stringify([0, id, name, parameters]);
      socket.write(`${Buffer.byteLength(text)}:${text}`);
    });
}
