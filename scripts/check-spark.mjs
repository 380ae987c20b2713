// Runs the tests of the Python package with Apache Spark, both installed from PyPI into a virtual
// environment, the package as pip builds it. Without Java it says loudly that nothing was checked.
// One test of each verb; all with `--nightly`. `--oldest` takes the oldest Spark that is supported.
// `--bench CASE…` runs bench/python/spark.py there in place of the tests.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { check, root, run, runChecks } from './lib/checks.mjs';

const isOldest = process.argv.includes('--oldest');
const isNightly = process.argv.includes('--nightly');
/** Programs of a gigabyte that only the tests of each night need. */
const FURTHER = isNightly
  ? ['pyspark[connect]==4.3.0', 'chdb-core==26.9.0', 'moto[server]==5.2.5']
  : [];
const cache = `halfspace-spark${isOldest ? '-oldest' : ''}${isNightly ? '-nightly' : ''}`;
const environment = join(root, 'node_modules/.cache', cache);
const python = join(environment, 'bin/python');
const named = isOldest ? 'requirements-oldest.txt' : 'requirements.txt';
const requirements = fileURLToPath(new URL(`check-spark/${named}`, import.meta.url));

/** Installs what requirements.txt names and `FURTHER`, unless it is there. */
async function installPrograms() {
  const wanted = [await readFile(requirements, 'utf8'), ...FURTHER].join('\n');
  const stamp = join(environment, 'requirements.txt');
  if (!existsSync(stamp) || (await readFile(stamp, 'utf8')) !== wanted) {
    await run('python3', ['-m', 'venv', '--clear', environment]);
    const quickly = ['--quiet', '--no-compile'];
    await run(python, ['-m', 'pip', 'install', ...quickly, '-r', requirements, ...FURTHER]);
    await writeFile(stamp, wanted);
  }
  return wanted.trim().replaceAll(/\n+/g, ', ');
}

/** Installs the package into a folder of its own, where an older one must not stay. */
async function installPackage() {
  const target = join(environment, 'package');
  await rm(target, { recursive: true, force: true });
  await mkdir(target);
  const options = ['--quiet', '--no-deps', '--no-build-isolation', '--target', target];
  await run(python, ['-m', 'pip', 'install', ...options, join(root, 'python')]);
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const bundle = join(target, 'halfspace/node/command.mjs');
  const found = (await run(process.execPath, [bundle, '--version'])).trim();
  const project = await readFile(join(root, 'python/pyproject.toml'), 'utf8');
  if (found !== version || !project.includes(`version = "${version}"`)) {
    throw new Error(`expected version ${version} in pyproject.toml and of the bundle, ${found}`);
  }
  const notices = await readFile(join(target, 'halfspace/node/THIRD-PARTY-NOTICES'), 'utf8');
  for (const name of ['apache-arrow', 'hyparquet-writer', 'seedrandom']) {
    if (!new RegExp(`^${name} [0-9]`, 'm').test(notices)) throw new Error(`no notice of ${name}`);
  }
  return `version ${found}`;
}

const env = {
  PYTHONPATH: join(environment, 'package'),
  PYSPARK_PYTHON: python,
  SPARK_LOCAL_IP: '127.0.0.1',
};

/** What is run of test_spark on every change, without a cluster: one test of each verb. */
const SMOKE = [
  ...['*doctor*', '*fingerprints_equal*', '*pairs_are*', '*new_rows_are*', '*plans_equal*'],
  ...['*like_those_of_minhash*', '*recall_is_one_folder*'],
  // Here Spark makes codes by way of pandas.
  ...(isOldest ? ['*exact_similarities*', '*frequencies*', '*first_value*'] : []),
];

/** Types and style of the package and its tests. */
async function lint() {
  const cwd = join(root, 'python');
  await run(python, ['-m', 'ruff', 'check', 'src', 'tests'], { cwd });
  return (await run(python, ['-m', 'mypy', 'src'], { cwd })).trim();
}

/** Runs one file of tests, or those whose names match; says which it skipped. */
async function runTests(name, patterns = []) {
  const chosen = patterns.flatMap((pattern) => ['-k', pattern]);
  const words = ['-W', 'ignore', '-m', 'unittest', '-v', ...chosen, `python/tests/${name}.py`];
  const said = await run('sh', ['-c', `"$0" "$@" 2>&1`, python, ...words], { env });
  const skipped = said.split('\n').filter((line) => line.includes('skipped '));
  return skipped.join('\n');
}

await runChecks(
  async () => {
    const hasJava = await run('java', ['-version']).then(
      () => true,
      () => false,
    );
    if (!hasJava) {
      console.log('NOTHING WAS CHECKED WITH SPARK: there is no Java on this machine');
      return;
    }
    await check('Spark and pyarrow from PyPI', installPrograms);
    await check('the Python package, as pip builds it', installPackage);
    const [what, ...cases] = process.argv.slice(2).filter((word) => word !== '--oldest');
    if (what === '--bench') {
      const words = ['-W', 'ignore', join(root, 'bench/python/spark.py'), ...cases];
      const options = { stdio: 'inherit', env: { ...process.env, ...env } };
      process.exitCode = spawnSync(python, words, options).status ?? 1;
      return;
    }
    if (!isOldest) await check('types and style', lint);
    await check('layouts: each near pair meets once', () => runTests('test_layout'));
    await check('the command as a child', () => runTests('test_command'));
    if (!isNightly) env.SMOKE = '1';
    await check('answers on Spark equal those of one machine', () =>
      runTests('test_spark', isNightly ? [] : SMOKE),
    );
    if (!isNightly) return;
    await check('codes in ClickHouse', () => runTests('test_clickhouse'));
    await check('the same by Spark Connect', () => runTests('test_connect'));
    await check('an index on S3, by hadoop-aws from Maven', () => runTests('test_s3'));
  },
  async () => undefined,
);
