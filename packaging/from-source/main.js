#!/usr/bin/env node
'use strict';

// npx holdfast-build: builds the native part of the installed package, for processors that it is
// not delivered for. Needs a compiler for C++20 and the headers of Node; node-addon-api is the only
// package that it fetches.

const { mkdtempSync, rmSync } = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { buildAddon } = require('./build-addon.js');
const { ensureCompiler } = require('./compiler.js');
const { findAddonApi, findNodeHeaders } = require('./headers.js');
const { Problem } = require('./problem.js');
const { ROOT } = require('./source-list.js');

const USAGE = `npx holdfast-build [options]

Builds the native part of holdfast for this machine.

  --output FILE   where to put it instead of the package: name it in HOLDFAST_BINARY then
  --nodedir DIR   where the headers of Node are (DIR/include/node)
  --jobs N        files to compile at a time
  --yes           install a missing compiler with apt-get without asking
  --help

The compiler is named by the environment variable CXX, or is c++.`;

const OPTIONS = /** @type {const} */ ({
  output: { type: 'string', default: path.join(ROOT, 'build', 'Release', 'holdfast.node') },
  nodedir: { type: 'string' },
  jobs: { type: 'string', default: String(os.availableParallelism()) },
  yes: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
});

/** @param {string[]} args */
function parse(args) {
  try {
    return parseArgs({ args, options: OPTIONS }).values;
  } catch (error) {
    throw new Problem(`${/** @type {Error} */ (error).message}\n\n${USAGE}`);
  }
}

/** @param {string[]} args */
async function main(args) {
  const { output, nodedir, jobs, yes, help } = parse(args);
  if (help) return console.log(USAGE);
  if (!/^[1-9]\d*$/.test(jobs)) throw new Problem(`--jobs is not a number: ${jobs}`);
  const compiler = await ensureCompiler(yes);
  const work = mkdtempSync(path.join(os.tmpdir(), 'holdfast-build-'));
  try {
    const headers = [findNodeHeaders(nodedir), findAddonApi(work)];
    const file = path.resolve(output);
    await buildAddon({ compiler, headers, work, file, jobs: Number(jobs) });
    console.log(`built ${file}`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

main(process.argv.slice(2)).catch((error) => {
  if (!(error instanceof Problem)) throw error;
  console.error(`holdfast-build: ${error.message}`);
  process.exitCode = 1;
});
