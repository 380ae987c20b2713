// How tests are run. `npm test` leaves out those tagged `full`: slow ones, such as a kill at any moment,
// every byte of a file changed, lines of 100 MB. `npm run test:full` and the CI run all of them.
// A test is tagged by `it('…', { tags: 'full' }, …)`, a file by a first line `// @module-tag full`.

import { defineConfig } from 'vitest/config';

/** A file for the counts of a run, as JSON next to the usual output; the CI sums them. */
const report = process.env.TEST_REPORT;

export default defineConfig({
  test: {
    testTimeout: 60_000,
    maxWorkers: '100%', // of the processors; by default one stays idle
    expect: { requireAssertions: true },
    reporters: report ? ['default', ['json', { outputFile: report }]] : ['default'],
    tags: [{ name: 'full', description: 'Slow: left out by `npm test`.' }],
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      // The command runs in child processes, the page in a browser, workers in threads of their own:
      // these are not counted.
      exclude: [
        ...['src/**/*.assembly.ts', 'src/**/*.generated.ts', 'src/**/*.d.ts'],
        ...['src/cli/**', 'src/explorer/**', 'src/worker.ts', 'src/threads/serve.ts'],
      ],
      reporter: ['text-summary', 'html'],
      // Measured 97, 97 and 90 before folders were built out of memory; to be raised again when measured.
      thresholds: { lines: 92, functions: 92, branches: 85 },
    },
    // The tests of the command run what is built, so only they wait for a build.
    projects: [
      {
        extends: true,
        test: {
          ...{ name: 'library', include: ['test/**/*.test.ts'], exclude: ['test/cli/**'] },
          globalSetup: 'test/threads/build-worker.ts',
        },
      },
      {
        extends: true,
        test: {
          ...{ name: 'command', include: ['test/cli/**/*.test.ts'] },
          globalSetup: 'test/cli/global-setup.ts',
        },
      },
    ],
  },
});
