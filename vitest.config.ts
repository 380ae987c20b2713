// How tests are run. `npm test` leaves out two tags. `thorough`, which the CI runs too: a test that takes
// seconds, next to a quick one of the same feature, such as the further rows of a table. `full`, which
// `npm run test:nightly` runs: slow ones, such as a kill at any moment, every byte of a file changed,
// lines of 100 MB. A test is tagged by `it('…', { tags: 'thorough' }, …)`, a file by a first line
// `// @module-tag thorough`.

import { readdirSync, readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** A file for the counts of a run, as JSON next to the usual output; the CI sums them. */
const report = process.env.TEST_REPORT;

/** Files that are slow as a whole run first: at the end one of them would keep a single core busy. */
class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isSlow = ({ moduleId }: TestSpecification) =>
      readFileSync(moduleId, 'utf8').startsWith('// @module-tag');
    const sorted = await super.sort(files);
    return [...sorted.filter(isSlow), ...sorted.filter((one) => !isSlow(one))];
  }
}

const tests = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => ({ file: `test/${file}`, text: readFileSync(`test/${file}`, 'utf8') }));

const TAGS = ['full', 'thorough'];

/** What tells a file that has a test with this tag. */
const TAGGED: Record<string, RegExp> = {
  full: /tags: 'full'|@module-tag full/,
  thorough: /tags: 'thorough'|quickIf|@module-tag thorough/,
};

/** The files of a project, without those of which the run has no test: it would import them. */
function filesOf(isOwn: (file: string, text: string) => boolean): string[] {
  const isAsked = (filter: string) => process.argv.includes(`--tags-filter=${filter}`);
  const wanted = TAGS.find(isAsked);
  const leftOut = TAGS.filter((tag) => isAsked(`!${tag}`));
  const isRun = (text: string) =>
    wanted === undefined
      ? !leftOut.some((tag) => text.startsWith(`// @module-tag ${tag}\n`))
      : TAGGED[wanted].test(text);
  return tests.filter(({ file, text }) => isRun(text) && isOwn(file, text)).map(({ file }) => file);
}

const isCommand = (file: string) => file.startsWith('test/cli/');
/** Whether a file replaces modules or globals, so that it needs modules of its own. */
const isAlone = (text: string) => /\bvi\.(mock|resetModules|stub|useFake)/.test(text);

export default defineConfig({
  test: {
    sequence: { sequencer: SlowFirst },
    testTimeout: 60_000,
    hookTimeout: 60_000, // hooks build indexes, on machines that may be busy
    maxWorkers: '100%', // of the processors; by default one stays idle
    expect: { requireAssertions: true },
    reporters: report ? ['default', ['json', { outputFile: report }]] : ['default'],
    tags: [
      {
        name: 'full',
        description: 'Slow: left out by `npm test` and the CI, run by `npm run test:nightly`.',
      },
      { name: 'thorough', description: 'Takes seconds: left out by `npm test`.' },
    ],
    setupFiles: 'test/reference/fast-equality.ts',
    // The tests of the command run what is built, so only they wait for a build. Those of the library
    // share the modules that they import, which takes a third of the time of most.
    projects: [
      {
        extends: true,
        test: {
          name: 'library',
          include: filesOf((file, text) => !isCommand(file) && !isAlone(text)),
          isolate: false,
          globalSetup: 'test/threads/build-worker.ts',
        },
      },
      {
        extends: true,
        test: {
          name: 'library-alone',
          include: filesOf((file, text) => !isCommand(file) && isAlone(text)),
          globalSetup: 'test/threads/build-worker.ts',
        },
      },
      {
        extends: true,
        test: {
          name: 'command',
          include: filesOf(isCommand),
          isolate: false,
          globalSetup: 'test/cli/global-setup.ts',
        },
      },
    ],
  },
});
