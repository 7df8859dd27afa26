'use strict';

// The program of `npm test -- install source`: builds the native part of the installed package, as
// on a processor that it is not delivered for, with node-gyp, which npm fetches.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { NPM, npm, runExclusion } = require('./managers.js');
const { CommandError, Sandbox } = require('./sandbox.js');

/** @typedef {{ file: string }} Tarball */

const BUILT = path.join('node_modules', 'holdfast', 'build', 'Release', 'holdfast.node');

/** The registry of node-gyp and node-addon-api. */
const registry = () =>
  execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim();

/** @param {Sandbox} sandbox @param {string} [tools]  further folders of programs, for PATH */
const build = (sandbox, tools = '') =>
  npm(sandbox, ['exec', '--no', '--', 'holdfast-build'], {
    env: { npm_config_registry: registry(), PATH: `${sandbox.bin}:${tools}` },
    minutes: 60,
  });

/** @param {() => unknown} run @param {string} text  of the error */
function mustFail(run, text) {
  try {
    run();
  } catch (error) {
    if (error instanceof CommandError && error.message.includes(text)) return;
    throw error;
  }
  throw new Error(`it does not fail with ${text}`);
}

/** A sandbox with the package, and no binary in it. @param {Tarball} tarball */
function makeProject({ file }) {
  const sandbox = new Sandbox();
  sandbox.link('npm', NPM);
  npm(sandbox, ['install', file]);
  fs.rmSync(path.join(sandbox.project, 'node_modules', 'holdfast', 'prebuilds'), {
    recursive: true,
  });
  return sandbox;
}

/** @param {Tarball} tarball @param {(sandbox: Sandbox) => string} check */
function inProject(tarball, check) {
  const sandbox = makeProject(tarball);
  try {
    return check(sandbox);
  } finally {
    sandbox.remove();
  }
}

/** @param {Sandbox} sandbox */
function checkWithoutCompiler(sandbox) {
  mustFail(() => runExclusion(sandbox), 'Run "npx holdfast-build"');
  mustFail(() => build(sandbox), 'It needs Python 3, make and a compiler for C++20');
  return 'names the command, then its needs';
}

/** @param {Sandbox} sandbox */
function checkBuild(sandbox) {
  const start = performance.now();
  build(sandbox, '/usr/bin:/bin');
  const seconds = Math.round((performance.now() - start) / 1000);
  const file = fs.realpathSync(path.join(sandbox.project, BUILT));
  for (const again of [() => {}, () => npm(sandbox, ['rebuild'])]) {
    again();
    const { addon } = runExclusion(sandbox);
    if (addon !== file) throw new Error(`it loaded ${addon}, and not ${file}`);
  }
  const left = fs.readdirSync(path.dirname(path.dirname(file)), { recursive: true });
  if (left.length !== 2) throw new Error(`it left more than the addon: ${left.join(', ')}`);
  const bytes = fs.statSync(file).size;
  return `${seconds} s, ${Math.round(bytes / 1024)} KiB, still there after npm rebuild`;
}

/** @param {Tarball} tarball */
function sourceCases(tarball) {
  return [
    {
      name: 'no binary and no compiler',
      isShort: true,
      run: () => inProject(tarball, checkWithoutCompiler),
    },
    { name: 'npx holdfast-build', run: () => inProject(tarball, checkBuild) },
  ];
}

module.exports = { sourceCases };
