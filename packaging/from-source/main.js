#!/usr/bin/env node
'use strict';

// npx holdfast-build: builds the native part of the installed package with node-gyp, for processors
// that it is not delivered for. The build runs in a temporary folder, so that the package gets
// one file, and a read-only package none.

const { spawnSync } = require('node:child_process');
const {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  writeFileSync,
} = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { headerPrefix } = require('./gyp.js');

const PACKAGE = path.resolve(__dirname, '..', '..');
const { devDependencies } = require('../../package.json');

/** The versions that holdfast is tested with. */
const FETCHED = [
  `node-gyp@${devDependencies['node-gyp']}`,
  `node-addon-api@${devDependencies['node-addon-api']}`,
];

const USAGE = `npx holdfast-build [options]

Builds the native part of holdfast for this machine with node-gyp, which npm fetches. It needs
Python 3, make and a compiler for C++20 (g++ 12, clang 14 or newer): CXX names another than g++.

  --output FILE   the file to write instead of the package's; HOLDFAST_BINARY has to name it then
  --nodedir DIR   the folder of Node's headers (DIR/include/node), which are downloaded otherwise
  --help`;

const OPTIONS = /** @type {const} */ ({
  output: { type: 'string', default: path.join(PACKAGE, 'build', 'Release', 'holdfast.node') },
  nodedir: { type: 'string' },
  help: { type: 'boolean', default: false },
});

/** A problem that the person who builds has to solve; the message says how. */
class Problem extends Error {}

/** @param {string[]} args */
function parse(args) {
  try {
    return parseArgs({ args, options: OPTIONS }).values;
  } catch (error) {
    throw new Problem(`${/** @type {Error} */ (error).message}\n\n${USAGE}`);
  }
}

/** @param {string} work  the folder of the build @param {string} program @param {string[]} args */
function run(work, program, args) {
  const { status } = spawnSync(program, args, {
    cwd: work,
    env: { ...process.env, LDFLAGS: `${process.env.LDFLAGS ?? ''} -Wl,-s` },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return status === 0;
}

/**
 * @param {string} work
 * @param {string | undefined} nodedir
 * @returns {string} the addon
 */
function build(work, nodedir) {
  cpSync(path.join(__dirname, 'src'), path.join(work, 'src'), { recursive: true });
  copyFileSync(path.join(__dirname, 'binding.gyp'), path.join(work, 'binding.gyp'));
  const tools = path.join(work, 'packaging', 'from-source');
  mkdirSync(tools, { recursive: true });
  copyFileSync(path.join(__dirname, 'gyp.js'), path.join(tools, 'gyp.js'));
  writeFileSync(path.join(work, 'package.json'), '{ "private": true }');

  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  if (!run(work, 'npm', ['install', '--prefix', work, ...quiet, ...FETCHED])) {
    throw new Problem(`npm cannot fetch ${FETCHED.join(' and ')}`);
  }
  const nodeGyp = path.join(work, 'node_modules', 'node-gyp', 'bin', 'node-gyp.js');
  const headers = nodedir === undefined ? [] : [`--nodedir=${path.resolve(nodedir)}`];
  const args = [nodeGyp, 'rebuild', '--jobs=max', '--loglevel=warn', ...headers];
  if (!run(work, process.execPath, args)) {
    throw new Problem(
      'node-gyp cannot build. It needs Python 3, make and a compiler for C++20. On Debian or ' +
        'Ubuntu: apt-get install python3 make g++; on Alpine: apk add python3 make g++; on ' +
        'Fedora: dnf install python3 make gcc-c++.',
    );
  }
  return path.join(work, 'build', 'Release', 'holdfast.node');
}

/** An addon that Node cannot load replaces none. @param {string} built @param {string} file */
function install(built, file) {
  const program = `require(${JSON.stringify(built)})`;
  const { status, stderr } = spawnSync(process.execPath, ['-e', program], { encoding: 'utf8' });
  if (status !== 0) throw new Problem(`Node cannot load the addon that was built:\n${stderr}`);
  try {
    mkdirSync(path.dirname(file), { recursive: true });
    copyFileSync(built, `${file}.new`);
    renameSync(`${file}.new`, file); // a process that has the old one loaded keeps it
  } catch (error) {
    throw new Problem(
      `${file} cannot be written (${/** @type {Error} */ (error).message}): choose another file ` +
        'with --output, and name it in HOLDFAST_BINARY',
    );
  }
}

/** @param {string[]} args */
function main(args) {
  const { output, nodedir, help } = parse(args);
  if (help) return console.log(USAGE);
  const work = mkdtempSync(path.join(os.tmpdir(), 'holdfast-build-'));
  try {
    const file = path.resolve(output);
    install(build(work, nodedir ?? process.env.npm_config_nodedir ?? headerPrefix()), file);
    console.log(`built ${file}`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

try {
  main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof Problem)) throw error;
  console.error(`holdfast-build: ${error.message}`);
  process.exitCode = 1;
}
