'use strict';

// The program of `npm test -- install bundlers`: an application bundled into its own dist/index.js,
// with holdfast left in its package and without that line, run in place and far from its packages.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { ROOT } = require('../../scripts/steps/run.js');
const { Sandbox } = require('./sandbox.js');
const { ownTarget } = require('./tarball.js');

/** @typedef {{ unpacked: string }} Tarball */

/**
 * @typedef {object} Bundler
 * @property {string} name
 * @property {boolean} [copiesAddon]  into what it makes, which then runs anywhere
 * @property {boolean} [needsLine]  without it the bundle only says which line is missing
 */

const TOOLS = path.join(ROOT, 'test', 'install', 'tools', 'bundlers');
/** A program that is started by its path. It ends soon, and the folder of the locks with it. */
const WITH_BROKER = { HOLDFAST_URL: 'broker:', HOLDFAST_BROKER_IDLE_MS: '500' };
const LINE = 'mark "holdfast" as external (esbuild: --external:holdfast';

/** @type {Bundler[]} */
const BUNDLERS = [
  { name: 'esbuild-cjs' },
  { name: 'esbuild-esm', needsLine: true },
  { name: 'webpack' },
  { name: 'rollup' },
  { name: 'vite' },
  { name: 'ncc' },
  { name: 'nft', copiesAddon: true },
];

/** @param {Sandbox} sandbox @param {string} file @param {NodeJS.ProcessEnv} [env] */
function tryToRun(sandbox, file, env = {}) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [file], {
    cwd: path.dirname(file),
    encoding: 'utf8',
    env: { ...sandbox.environment(), ...env },
    timeout: 120_000,
  });
  return { isFine: status === 0 && JSON.parse(stdout).task === 'task', output: stdout + stderr };
}

/** @param {boolean} isTrue @param {string} claim @param {string} output */
function expectThat(isTrue, claim, output) {
  if (!isTrue) throw new Error(`${claim}; it said:\n${output.slice(0, 2000)}`);
}

/** @param {Sandbox} sandbox @param {Tarball} tarball @param {string} bundler @param {string} how */
function bundle(sandbox, { unpacked }, bundler, how) {
  const application = fs.readFileSync(path.join(__dirname, 'application.mjs'), 'utf8');
  sandbox.write('application.mjs', application);
  const installed = path.join(sandbox.project, 'node_modules', 'holdfast');
  fs.cpSync(unpacked, installed, { recursive: true });
  sandbox.run('node', [path.join(__dirname, 'bundle-programs.js'), TOOLS, bundler, how]);
  const made = ['index.js', 'index.mjs'].map((file) => path.join(sandbox.project, 'dist', file));
  return /** @type {string} */ (made.find((file) => fs.existsSync(file)));
}

/** @param {Sandbox} sandbox @param {string} file @returns {string} the file in its new copy */
function moveAway(sandbox, file) {
  const copy = path.join(sandbox.root, 'elsewhere', 'app');
  fs.cpSync(path.dirname(file), copy, { recursive: true });
  fs.rmSync(sandbox.project, { recursive: true });
  fs.mkdirSync(sandbox.project);
  return path.join(copy, path.basename(file));
}

/** @param {Sandbox} sandbox @param {Tarball} tarball @param {Bundler} bundler */
function checkBundled(sandbox, tarball, { name, copiesAddon = false, needsLine = false }) {
  const file = bundle(sandbox, tarball, name, 'bundled');
  const inPlace = tryToRun(sandbox, file);
  if (needsLine) {
    expectThat(inPlace.output.includes(LINE), 'the error names the line', inPlace.output);
    return 'names the line that it needs';
  }
  expectThat(inPlace.isFine, 'it runs in place', inPlace.output);
  const withBroker = tryToRun(sandbox, file, WITH_BROKER);
  expectThat(withBroker.isFine, 'it runs in place with a broker', withBroker.output);
  const moved = moveAway(sandbox, file);
  const alone = tryToRun(sandbox, moved);
  const isAsExpected = copiesAddon ? alone.isFine : alone.output.includes(LINE);
  expectThat(isAsExpected, 'elsewhere it runs, or the error names the line', alone.output);
  // Elsewhere too: the broker that ran in place keeps running for half a second.
  const directory = path.join(sandbox.root, 'other-brokers');
  const movedWithBroker = tryToRun(sandbox, moved, { ...WITH_BROKER, HOLDFAST_DIR: directory });
  const isStarted = copiesAddon ? movedWithBroker.isFine : movedWithBroker.output.includes(LINE);
  expectThat(
    isStarted,
    'elsewhere a broker starts, or the error names the line',
    movedWithBroker.output,
  );
  const addon = path.join(tarball.unpacked, 'prebuilds', ownTarget(), 'holdfast.node');
  const chosen = tryToRun(sandbox, moved, { HOLDFAST_BINARY: addon });
  expectThat(chosen.isFine, 'it runs elsewhere with HOLDFAST_BINARY', chosen.output);
  return copiesAddon ? 'runs anywhere' : 'runs in place; elsewhere with HOLDFAST_BINARY';
}

/** @param {Sandbox} sandbox @param {Tarball} tarball @param {Bundler} bundler */
function checkExternal(sandbox, tarball, { name }) {
  const { isFine, output } = tryToRun(sandbox, bundle(sandbox, tarball, name, 'external'));
  expectThat(isFine, 'it runs with the package beside it', output);
  return 'runs';
}

/** @param {Tarball} tarball */
function bundlerCases(tarball) {
  const checks = { 'left in its package': checkExternal, 'without that line': checkBundled };
  return BUNDLERS.flatMap((bundler) =>
    Object.entries(checks).map(([how, check]) => ({
      name: `${bundler.name}, ${how}`,
      run() {
        const sandbox = new Sandbox();
        try {
          return check(sandbox, tarball, bundler);
        } finally {
          sandbox.remove();
        }
      },
    })),
  );
}

module.exports = { bundlerCases };
