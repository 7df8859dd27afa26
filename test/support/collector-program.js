'use strict';

const { spawnSync } = require('node:child_process');
const { join } = require('node:path');

const LIBRARY = join(__dirname, '../../lib/index.js');

/**
 * Runs a self-contained async function in a separate process, with everything of the package,
 * `collect()`, which collects what it can, and `library`, its file. Resolves with its result.
 * @param {(given: any) => Promise<unknown>} body
 * @param {object} [values]  further members of `given`
 */
function runWithCollector(body, values = {}) {
  const program = `
    const library = ${JSON.stringify(LIBRARY)};
    const holdfast = require(library);
    async function collect() {
      for (let i = 0; i < 8; i += 1) {
        await new Promise((resolve) => setImmediate(resolve));
        globalThis.gc();
      }
    }
    const given = { ...holdfast, collect, library, ...${JSON.stringify(values)} };
    (${body})(given).then((value) => {
      console.log(JSON.stringify(value));
      process.exit();
    });`;
  // A watchdog: on a busy machine the threads that collect wait for each other.
  // In a test, process.env is a copy, which a child does not get unless it is passed.
  const options = { encoding: 'utf8', timeout: 600_000, env: process.env };
  const { stdout, stderr, status, signal } = spawnSync(
    process.execPath,
    ['--expose-gc', '-e', program],
    options,
  );
  if (status !== 0) throw new Error(`${signal ?? status}: ${stderr}`);
  return JSON.parse(stdout);
}

module.exports = { runWithCollector };
