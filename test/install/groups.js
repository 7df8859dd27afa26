'use strict';

// npm test -- install [--short] [--only NAME] [group…]: the package as it would be published, in
// empty folders without a compiler. Groups: managers, bundlers, next, types, binaries (after
// `npm run prebuilds`), source. Ends with `N passed, N failed`.

const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { line } = require('../../scripts/steps/suites.js');
const { installIn } = require('../../scripts/steps/toolchain.js');
const { ROOT, StepError } = require('../../scripts/steps/run.js');
const { binaryCases } = require('./binaries.js');
const { bundlerCases } = require('./bundlers.js');
const { WAYS, installAndLock } = require('./managers.js');
const { installNext, nextCases } = require('./next.js');
const { startRegistry } = require('./registry.js');
const { Sandbox } = require('./sandbox.js');
const { sourceCases } = require('./from-source.js');
const { makeTarball } = require('./tarball.js');
const { typeCases } = require('./typescripts.js');

/** @typedef {{ short: boolean, only: string }} Options */
/** @typedef {{ name: string, isShort?: boolean, run: () => Promise<string> | string }} Case */
/** @typedef {ReturnType<typeof makeTarball>} Tarball */

/**
 * @param {Tarball} tarball
 * @param {Options} options
 * @returns {Promise<{ cases: Case[], end: () => Promise<void> }>}
 */
async function managers(tarball, { short }) {
  if (!short) installIn(path.join(ROOT, 'test', 'install', 'tools', 'managers'));
  const registry = short ? undefined : await startRegistry(tarball.file, tarball.folder);
  const source = {
    tarball: tarball.file,
    unpacked: tarball.unpacked,
    registry: registry?.url ?? '',
  };
  const cases = WAYS.map((way) => ({
    name: way.name,
    isShort: way.isShort,
    run() {
      const sandbox = new Sandbox(way.folder);
      try {
        return `${(installAndLock(sandbox, way, source) / 1000).toFixed(1)} s`;
      } finally {
        sandbox.remove();
      }
    },
  }));
  return { cases, end: async () => registry?.stop() };
}

/**
 * @param {Tarball} tarball
 * @returns {ReturnType<typeof managers>}
 */
async function bundlers(tarball) {
  installIn(path.join(ROOT, 'test', 'install', 'tools', 'bundlers'));
  return { cases: bundlerCases(tarball), end: async () => {} };
}

/**
 * @param {Tarball} tarball
 * @returns {ReturnType<typeof managers>}
 */
async function next(tarball) {
  installNext();
  return { cases: nextCases(tarball), end: async () => {} };
}

/**
 * @param {Tarball} tarball
 * @returns {ReturnType<typeof managers>}
 */
async function types(tarball) {
  installIn(path.join(ROOT, 'test', 'install', 'tools', 'types'));
  return { cases: typeCases(tarball), end: async () => {} };
}

/**
 * @param {Tarball} tarball
 * @returns {ReturnType<typeof managers>}
 */
const binaries = async (tarball) => ({ cases: binaryCases(tarball), end: async () => {} });

/**
 * @param {Tarball} tarball
 * @returns {ReturnType<typeof managers>}
 */
const source = async (tarball) => ({ cases: sourceCases(tarball), end: async () => {} });

/** @type {Record<string, (tarball: Tarball, options: Options) => ReturnType<typeof managers>>} */
const GROUPS = { managers, bundlers, next, types, binaries, source };

/** @param {Case} test @param {Options} options */
const isWanted = ({ name, isShort }, { short, only }) =>
  name.includes(only) && (isShort === true || !short);

/**
 * @param {Case} test
 * @returns {Promise<boolean>} whether it passed
 */
async function runCase({ name, run }) {
  try {
    console.log(`ok      ${name}: ${await run()}`);
    return true;
  } catch (error) {
    console.log(`FAILED  ${name}: ${/** @type {Error} */ (error).message}`);
    return false;
  }
}

/**
 * Ends the program with the sum of the counts.
 * @param {string[]} names
 * @param {Options} options
 */
async function runGroups(names, options) {
  const tarball = makeTarball();
  const counts = { passed: 0, failed: 0, skipped: 0 };
  try {
    console.log(`${path.basename(tarball.file)}: ${fs.statSync(tarball.file).size} bytes packed`);
    for (const name of names) {
      console.log(`\n== ${name}`);
      const { cases, end } = await GROUPS[name](tarball, options);
      for (const test of cases.filter((each) => isWanted(each, options))) {
        counts[(await runCase(test)) ? 'passed' : 'failed'] += 1;
      }
      await end();
    }
  } finally {
    tarball.remove();
  }
  process.exitCode = counts.failed > 0 || counts.passed === 0 ? 1 : 0;
  console.log(`\n${line(counts)}`);
}

/** @param {string[]} args */
function main(args) {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { short: { type: 'boolean', default: false }, only: { type: 'string', default: '' } },
  });

  const unknown = positionals.filter((name) => !(name in GROUPS));
  if (unknown.length > 0) {
    console.error(`there are ${Object.keys(GROUPS).join(', ')}, and no ${unknown.join(', ')}`);
    process.exitCode = 2;
  } else {
    const names = positionals.length > 0 ? positionals : Object.keys(GROUPS);
    runGroups(names, values).catch((error) => {
      if (!(error instanceof StepError)) throw error;
      console.error(error.message);
      process.exitCode = 1;
    });
  }
}

module.exports = { main };
