'use strict';

// Compiles and links the addon, a few files at a time.

const { execFile, spawnSync } = require('node:child_process');
const { copyFileSync, mkdirSync, renameSync } = require('node:fs');
const path = require('node:path');
const { promisify } = require('node:util');
const { COMPILER_OPTIONS, DEFINES, LINKER_OPTIONS } = require('./compiler-options.js');
const { Problem } = require('./problem.js');
const { ROOT, addonSources } = require('./source-list.js');

const execute = promisify(execFile);

/**
 * @param {string[]} command  program and arguments
 * @param {string} what  for the message when it fails
 */
async function run([program, ...args], what) {
  try {
    await execute(program, args, { cwd: ROOT, maxBuffer: 1 << 26 });
  } catch (error) {
    const { stderr, message } = /** @type {any} */ (error);
    throw new Problem(`${what} cannot be compiled:\n${stderr || message}`);
  }
}

/**
 * @param {string[]} commonCommand  of the compiler
 * @param {string} work
 * @param {number} jobs
 * @returns {Promise<string[]>} the objects
 */
async function compileAll(commonCommand, work, jobs) {
  const sources = addonSources();
  const objects = sources.map((_, index) => path.join(work, `${index}.o`));
  let next = 0;
  const compileNext = async () => {
    while (next < sources.length) {
      const index = next;
      next += 1;
      const source = sources[index];
      await run([...commonCommand, '-c', source, '-o', objects[index]], source);
      if (process.stderr.isTTY) process.stderr.write(`\r${index + 1}/${sources.length} `);
    }
  };
  await Promise.all(Array.from({ length: jobs }, compileNext));
  return objects;
}

/** A binary that Node cannot load is not put where it would be found. @param {string} file */
function checkThatNodeLoads(file) {
  const program = `require(${JSON.stringify(file)})`;
  const { status, stderr } = spawnSync(process.execPath, ['-e', program], { encoding: 'utf8' });
  if (status !== 0) throw new Problem(`what was built cannot be loaded:\n${stderr}`);
}

/**
 * @param {object} plan
 * @param {string[]} plan.compiler  program and arguments
 * @param {string[]} plan.headers  folders
 * @param {string} plan.work  a folder for what is made on the way
 * @param {string} plan.file  what is made
 * @param {number} plan.jobs
 */
async function buildAddon({ compiler, headers, work, file, jobs }) {
  const systemFolders = headers.flatMap((folder) => ['-isystem', folder]);
  const command = [...compiler, ...COMPILER_OPTIONS, ...DEFINES, ...systemFolders];
  const objects = await compileAll(command, work, jobs);
  const linked = path.join(work, 'holdfast.node');
  await run([...compiler, ...LINKER_OPTIONS, '-Wl,-s', ...objects, '-pthread', '-o', linked], file);
  checkThatNodeLoads(linked);
  try {
    mkdirSync(path.dirname(file), { recursive: true });
    copyFileSync(linked, `${file}.new`);
    renameSync(`${file}.new`, file); // a process that has the old one loaded keeps it
  } catch (error) {
    throw new Problem(
      `${file} cannot be written (${/** @type {Error} */ (error).message}): choose another place ` +
        'with --output, and name it in HOLDFAST_BINARY',
    );
  }
}

module.exports = { buildAddon };
