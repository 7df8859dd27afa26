'use strict';

// The groups of `npm test -- install`, and the output of their results.

const fs = require('node:fs');
const path = require('node:path');
const { line } = require('../../scripts/steps/counts.js');
const { installIn } = require('../../scripts/steps/packages.js');
const { ROOT } = require('../../scripts/steps/run.js');
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
  if (!short) installIn(path.join(ROOT, 'packaging', 'managers'));
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
  installIn(path.join(ROOT, 'packaging', 'bundlers'));
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
  installIn(path.join(ROOT, 'packaging', 'types'));
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

module.exports = { GROUPS, runGroups };
