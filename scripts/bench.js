'use strict';

// npm run bench [-- --rounds N --json scenario…]: builds the addon, installs what it is compared
// with, measures, and writes bench/RESULTS.md, and its figures in docs/alternatives.md.
// With `--group etcd` or `--group postgres` it measures the scenarios of a server. With `--compare
// REV` it measures another revision and this tree in turns, and writes nothing.

const { readFileSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const { spawnSync } = require('node:child_process');
const { headerPrefix } = require('../packaging/from-source/gyp.js');
const { isUpToDate, ensureToolchain } = require('./steps/toolchain.js');
const { ROOT, runProgram, StepError } = require('./steps/run.js');
const { buildRevision, commitOf } = require('./steps/other-revision.js');

const BENCH = path.join(ROOT, 'bench');

/** @param {string[]} args */
function npm(args) {
  const prefix = headerPrefix();
  const env = prefix === undefined ? process.env : { ...process.env, npm_config_nodedir: prefix };
  const stdio = /** @type {const} */ (['ignore', process.stderr, process.stderr]);
  return spawnSync('npm', args, { cwd: BENCH, env, stdio: [...stdio] }).status === 0;
}

/** Without fs-ext, which has to be compiled, its scenarios say that they are left out. */
function ensureBenchPackages() {
  const installed = path.join(BENCH, 'node_modules', '.package-lock.json');
  if (isUpToDate(path.join(BENCH, 'package-lock.json'), installed)) return;
  if (!npm(['ci', '--ignore-scripts', '--no-audit', '--no-fund'])) {
    throw new StepError('the packages of bench/ cannot be installed');
  }
  if (!npm(['rebuild', 'fs-ext'])) console.error('fs-ext cannot be built: no figures of flock');
}

/**
 * The scenarios of a server that is not there are left out, and say so.
 * @param {boolean} withEtcd
 */
function ensureServers(withEtcd) {
  /** @type {('redis' | 'postgresql' | 'etcd')[]} */
  const servers = ['redis', 'postgresql'];
  if (withEtcd && !process.env.HOLDFAST_ETCD) servers.push('etcd');
  for (const server of servers) {
    try {
      ensureToolchain(server);
    } catch (error) {
      if (!(error instanceof StepError)) throw error;
      console.error(`${error.message}\nThe scenarios run without it.`);
    }
  }
}

/** Prints the build's output to standard error: standard output has the results alone. */
function buildThis() {
  const script = path.join(__dirname, 'build.js');
  const build = spawnSync(process.execPath, [script], {
    stdio: ['ignore', process.stderr, process.stderr],
  });
  if (build.status !== 0) throw new StepError('the addon cannot be built');
  ensureBenchPackages();
}

/** @param {string} program @param {string[]} args */
function runBench(program, args) {
  const all = [path.join(ROOT, 'bench', program), ...args];
  return spawnSync(process.execPath, all, { stdio: 'inherit' }).status ?? 1;
}

// Figures of docs/alternatives.md come from bench/RESULTS.md. Each is followed by a comment that
// names its section and row there: `0.76 µs<!-- uncontended: holdfast -->`. A test compares them.

const MARKED = /([\d.,]+ (?:ns|µs|ms))<!-- ([\w-]+): ([^>]*?) -->/g;

/**
 * The first figure of a row of the results, in the unit of its column, which is the first.
 * @param {string} results  the text of bench/RESULTS.md
 * @param {string} section
 * @param {string} row
 * @returns {number} nanoseconds
 */
function figureOf(results, section, row) {
  const text = results.split(/^## /m).find((part) => part.startsWith(`${section}\n`)) ?? '';
  const line = text.split('\n').find((each) => each.startsWith(`| ${row} |`));
  const figure = Number.parseFloat((line?.split('|')[2] ?? '').replaceAll(',', ''));
  if (Number.isNaN(figure)) {
    throw new StepError(
      `docs/alternatives.md stays: bench/RESULTS.md has no '${row}' in '${section}'`,
    );
  }
  return figure;
}

/** @param {number} ns  with two digits, or as many as there are before the point */
function format(ns) {
  const [value, unit] =
    ns < 1e3 && ns < 100 ? [ns, 'ns'] : ns < 1e6 ? [ns / 1e3, 'µs'] : [ns / 1e6, 'ms'];
  const digits = value < 1 ? 2 : value < 10 ? 1 : 0;
  return `${value.toFixed(digits)} ${unit}`;
}

/**
 * @param {string} text  of docs/alternatives.md
 * @param {string} results  of bench/RESULTS.md
 * @returns {string} the text with the figures of the results
 */
const withFigures = (text, results) =>
  text.replace(MARKED, (_all, _old, section, row) => {
    return `${format(figureOf(results, section, row))}<!-- ${section}: ${row} -->`;
  });

/**
 * Writes the figures of bench/RESULTS.md into docs/alternatives.md.
 * @throws {StepError} where some are missing, as in a clone that has measured one scenario only
 */
function putFigures() {
  const page = path.join(ROOT, 'docs', 'alternatives.md');
  const results = readFileSync(path.join(ROOT, 'bench', 'RESULTS.md'), 'utf8');
  writeFileSync(page, withFigures(readFileSync(page, 'utf8'), results));
}

function main() {
  const args = process.argv.slice(2);
  const at = args.findIndex((arg) => /^--compare(=|$)/.test(arg));
  if (at === -1) {
    buildThis();
    ensureServers(args.includes('etcd'));
    process.exitCode = runBench('run.js', args);
    if (process.exitCode === 0) putFigures();
  } else {
    const [option, next] = args.splice(at, args[at].includes('=') ? 1 : 2);
    const revision = option.includes('=') ? option.slice(option.indexOf('=') + 1) : next;
    if (!revision) throw new StepError('--compare must name a revision: --compare main');
    commitOf(revision);
    buildThis();
    process.exitCode = runBench('compare.js', ['--before', buildRevision(revision), ...args]);
  }
}

if (require.main === module) runProgram(main);

module.exports = { withFigures };
