'use strict';

// npm test -- flock [PATH]: runs the tests that util-linux has for flock(1) as they are, with
// `holdfast exec` in its place. PATH is a source tree of util-linux, which need not be built;
// without one, the source package of this Debian or Ubuntu is fetched. A test that passes a file
// descriptor in place of a lock cannot pass: docs/command-line.md says why.

const { spawnSync } = require('node:child_process');
const { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { conclude } = require('../steps/suites.js');
const { build } = require('../build.js');
const { ROOT, StepError } = require('../steps/run.js');
const { fetchSource, ensureToolchain } = require('../steps/toolchain.js');

/** Needs a descriptor, or a kind of file lock. */
const DOES_NOT_APPLY = /^(fd|fcntl.*)$/;
/** Tests beside the test of flock, in later versions, of the same things. */
const OTHER_FILES = ['close', 'range-lock', 'unlock'];
const SUB_TEST = /^ *: (\S+) +\.\.\. (OK|FAILED)/gm;

/** @param {string} tree  of util-linux */
function findTest(tree) {
  const candidates = ['tests/ts/misc/flock', 'tests/ts/flock/flock'].map((name) =>
    path.join(tree, name),
  );
  const found = candidates.find((file) => existsSync(file));
  if (found !== undefined) return found;
  throw new StepError(`no tests of flock in '${tree}': pass the path of a util-linux source tree`);
}

/**
 * @param {string} test
 * @param {string} folder  for what it writes
 * @returns {import('../steps/suites.js').Counts}
 */
function runTest(test, folder) {
  const command = path.join(folder, 'flock');
  const program = path.join(ROOT, 'dist', 'cli.js');
  writeFileSync(command, `#!/bin/sh\nexec '${process.execPath}' '${program}' exec "$@"\n`);
  chmodSync(command, 0o755);
  const tree = path.join(path.dirname(test).replace(/\/tests\/ts\/.*$/, ''));
  const env = { ...process.env, TS_CMD_FLOCK: command, HOLDFAST_DIR: folder };
  const args = [test, `--srcdir=${tree}`, `--builddir=${folder}`];
  const { stdout, stderr } = spawnSync('bash', args, { cwd: folder, encoding: 'utf8', env });
  console.log(stdout + stderr);
  const others = OTHER_FILES.filter((name) => existsSync(path.join(path.dirname(test), name)));
  for (const name of others)
    console.log(`${name}: needs descriptors or ranges of a file, left out`);
  const counts = { passed: 0, failed: 0, skipped: others.length };
  for (const [, name, result] of stdout.matchAll(SUB_TEST)) {
    if (DOES_NOT_APPLY.test(name)) counts.skipped += 1;
    else if (result === 'OK') counts.passed += 1;
    else counts.failed += 1;
  }
  if (counts.passed + counts.failed === 0) throw new StepError('no test has run: see above');
  return counts;
}

/** @param {string[]} args */
function main(args) {
  conclude([
    {
      title: "util-linux' tests of flock",
      run: () => {
        ensureToolchain('flock');
        const test = path.resolve(findTest(args[0] ?? fetchSource('util-linux')));
        build();
        const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-flock-'));
        try {
          return runTest(test, folder);
        } finally {
          rmSync(folder, { recursive: true });
        }
      },
    },
  ]);
}

module.exports = { main };
