'use strict';

// The program of `npm test -- install source`: builds the native part inside the installed package,
// as on a processor that it is not delivered for, and without Python, make or node-gyp.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { NPM, npm, runExclusion } = require('./managers.js');
const { CommandError, Sandbox } = require('./sandbox.js');

/** @typedef {{ file: string }} Tarball */

/** The programs of a compiler. */
const COMPILER = ['c++', 'as', 'ld'];
const BUILT = path.join('node_modules', 'holdfast', 'build', 'Release', 'holdfast.node');

/** @param {Sandbox} sandbox */
function linkCompiler(sandbox) {
  for (const program of COMPILER) {
    sandbox.link(program, fs.realpathSync(path.join('/usr/bin', program)));
  }
}

/** The registry of node-addon-api. */
const registry = () =>
  execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim();

/** @param {Sandbox} sandbox @param {...string} args */
const build = (sandbox, ...args) =>
  npm(sandbox, ['exec', '--no', '--', 'holdfast-build', ...args], {
    env: { npm_config_registry: registry() },
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
  mustFail(() => build(sandbox), 'is no compiler for C++20');
  return 'names the command, then the compilers';
}

/** @param {Sandbox} sandbox */
function checkBuild(sandbox) {
  linkCompiler(sandbox);
  const start = performance.now();
  build(sandbox);
  const seconds = Math.round((performance.now() - start) / 1000);
  const file = fs.realpathSync(path.join(sandbox.project, BUILT));
  for (const again of [() => {}, () => npm(sandbox, ['rebuild'])]) {
    again();
    const { addon } = runExclusion(sandbox);
    if (addon !== file) throw new Error(`it loaded ${addon}, and not ${file}`);
  }
  const bytes = fs.statSync(file).size;
  return `${seconds} s, ${Math.round(bytes / 1024)} KiB, still there after npm rebuild`;
}

/**
 * Runs `npx holdfast-build` in a terminal in which the question is answered so.
 * @param {Sandbox} sandbox
 * @param {string} answer
 */
function buildInTerminal(sandbox, answer) {
  const command = `node ${NPM} exec --no -- holdfast-build`;
  const file = sandbox.write('answer', `${answer}\n`);
  sandbox.run('sh', [
    '-c',
    `script --quiet --return --command '${command}' log <'${file}' || true`,
  ]);
  return fs.readFileSync(path.join(sandbox.project, 'log'), 'utf8');
}

/** apt-get writes down what it is asked for, and installs nothing. @param {Sandbox} sandbox */
function checkQuestion(sandbox) {
  const calls = path.join(sandbox.root, 'calls');
  const programs = { 'apt-get': `echo "$@" >>'${calls}'`, sudo: 'exec "$@"' };
  for (const [name, line] of Object.entries(programs)) {
    const file = sandbox.write(name, `#!/bin/sh\n${line}\n`);
    fs.chmodSync(file, 0o755);
    sandbox.link(name, file);
  }
  sandbox.link('script', '/usr/bin/script');
  const install = 'install -y g++';
  for (const [answer, isRun] of /** @type {const} */ ([
    ['n', false],
    ['y', true],
  ])) {
    fs.rmSync(calls, { force: true });
    const log = buildInTerminal(sandbox, answer);
    if (!log.includes(`apt-get ${install}"? [y/N]`)) throw new Error(`it does not ask:\n${log}`);
    const wasRun = fs.readFileSync(calls, 'utf8').includes(install);
    if (wasRun !== isRun) throw new Error(`answered ${answer}, and apt-get was run: ${wasRun}`);
  }
  return 'runs apt-get after a yes, and not after a no';
}

/** @param {Tarball} tarball */
function sourceCases(tarball) {
  return [
    {
      name: 'no binary and no compiler',
      isShort: true,
      run: () => inProject(tarball, checkWithoutCompiler),
    },
    {
      name: 'the question before apt-get',
      isShort: true,
      run: () => inProject(tarball, checkQuestion),
    },
    { name: 'npx holdfast-build', run: () => inProject(tarball, checkBuild) },
  ];
}

module.exports = { sourceCases };
