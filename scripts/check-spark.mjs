// Runs the tests of the Python package with Apache Spark, both installed from PyPI into a virtual
// environment, the package as pip builds it. Without Java it says loudly that nothing was checked.
// One test of each verb; all with `--nightly`. `--spark 3.5` or `--spark 4.0` takes an older one.
// `--bench CASE…` runs bench/python/spark.py there in place of the tests.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { check, root, run, runChecks } from './lib/checks.mjs';

/** By version of Spark what is installed with it: for an older one, of its own time. */
const PROGRAMS = {
  3.5: ['pyspark==3.5.9', 'pyarrow<20', 'pandas<2.3', 'numpy<2'],
  '4.0': ['pyspark==4.0.5', 'pyarrow<21', 'pandas<2.3', 'numpy<3'],
  4.3: ['pyspark==4.3.0', 'pyarrow==26.0.1', 'pandas==2.3.3', 'numpy<3'],
};
const NEWEST = '4.3';
const { values: given, positionals: cases } = parseArgs({
  allowPositionals: true,
  options: {
    spark: { type: 'string', default: NEWEST },
    nightly: { type: 'boolean' },
    bench: { type: 'boolean' },
  },
});
const { spark, nightly: isNightly } = given;
if (!(spark in PROGRAMS))
  throw new Error(`--spark expected ${Object.keys(PROGRAMS)}, got ${spark}`);
/** Programs of a gigabyte that only the tests of each night need. */
const FURTHER = isNightly
  ? ['pyspark[connect]==4.3.0', 'chdb-core==26.9.0', 'moto[server]==5.2.5']
  : [];
const cache = `halfspace-spark-${spark}${isNightly ? '-nightly' : ''}`;
const environment = join(root, 'node_modules/.cache', cache);
const python = join(environment, 'bin/python');

/** Installs what the package is tested with, unless it is there. */
async function installPrograms() {
  const tools = ['xxhash>=3', 'setuptools>=70', 'wheel', 'mypy==2.4.1', 'ruff==0.17.6'];
  const wanted = [...PROGRAMS[spark], ...tools, ...FURTHER];
  const stamp = join(environment, 'programs.txt');
  if (!existsSync(stamp) || (await readFile(stamp, 'utf8')) !== wanted.join()) {
    await run('python3', ['-m', 'venv', '--clear', environment]);
    await run(python, ['-m', 'pip', 'install', '--quiet', '--no-compile', ...wanted]);
    await writeFile(stamp, wanted.join());
  }
  return wanted.join(', ');
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
  ...(spark === '3.5' ? ['*exact_similarities*', '*frequencies*', '*first_value*'] : []),
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
    if (given.bench) {
      const words = ['-W', 'ignore', join(root, 'bench/python/spark.py'), ...cases];
      const options = { stdio: 'inherit', env: { ...process.env, ...env } };
      process.exitCode = spawnSync(python, words, options).status ?? 1;
      return;
    }
    if (spark === NEWEST) await check('types and style', lint);
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
