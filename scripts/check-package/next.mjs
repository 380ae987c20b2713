// An application of Next.js that uses the installed package, built and served as its users do: the server
// makes the golden codes for the page, the page makes them again and starts threads.

import { spawn } from 'node:child_process';
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../lib/checks.mjs';

const PACKAGES = ['next@16.4.6', 'react@19.3.1', 'react-dom@19.3.1'];
const PROGRAM = 'node_modules/next/dist/bin/next';

const FILES = {
  'layout.js': `
export default function Layout({ children }) {
  const icon = <link rel="icon" href="data:," />;
  return <html lang="en"><head>{icon}</head><body>{children}</body></html>;
}`,
  'page.js': `
import { report } from '../smoke.mjs';
import Client from './client';
export const dynamic = 'force-dynamic';
export default async function Page() {
  return <><pre>{JSON.stringify(await report())}</pre><Client /></>;
}`,
  'client.js': `'use client';
import * as library from 'halfspace';
import { useEffect } from 'react';
import { report } from '../smoke.mjs';
import { threads } from '../threads.mjs';
export default function Client() {
  useEffect(() => {
    globalThis.packed = { report, threads: () => threads(library) };
  }, []);
  return null;
}`,
};

/** Builds and starts the application; `close` ends it. */
export async function startNext(consumer) {
  const cwd = join(consumer, '../next');
  await mkdir(join(cwd, 'app'), { recursive: true });
  for (const name of ['package.json', 'node_modules', 'golden.mjs', 'smoke.mjs', 'threads.mjs']) {
    await cp(join(consumer, name), join(cwd, name), { recursive: true });
  }
  for (const [name, text] of Object.entries(FILES)) await writeFile(join(cwd, 'app', name), text);
  await run('npm', ['install', ...PACKAGES, '--no-audit', '--no-fund'], { cwd });
  const env = { NEXT_TELEMETRY_DISABLED: '1' };
  await run(process.execPath, [PROGRAM, 'build'], { cwd, env });
  const words = [PROGRAM, 'start', '--hostname', '127.0.0.1', '--port', '0'];
  const child = spawn(process.execPath, words, { cwd, env: { ...process.env, ...env } });
  const origin = await new Promise((resolve, reject) => {
    let text = '';
    const take = (bytes) => {
      text += bytes;
      const [found] = /http:\/\/127\.0\.0\.1:\d+/.exec(text) ?? [];
      if (found !== undefined && text.includes('Ready')) resolve(found);
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    child.on('exit', () => reject(new Error(`next start ended: ${text}`)));
  });
  return { origin, close: () => child.kill() };
}
