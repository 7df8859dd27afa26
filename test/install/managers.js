'use strict';

// The program of `npm test -- install managers`: each way to install the package, and then a lock
// that two processes exclude each other by.

const fs = require('node:fs');
const path = require('node:path');
const { ROOT } = require('../../scripts/steps/run.js');
const { ownTarget } = require('./tarball.js');

/** @typedef {import('./sandbox.js').Sandbox} Sandbox */

/**
 * @typedef {object} Way
 * @property {string} name
 * @property {boolean} [isShort]  part of the short form
 * @property {string} [folder]  name of the folder of the project
 * @property {boolean} [needsRegistry]
 * @property {(sandbox: Sandbox, source: { tarball: string, unpacked: string, registry: string }) =>
 *   void | Run} install  gives how to run the program, where that is not plain `node`
 */

/** @typedef {(file: string) => string} Run */

const TOOLS = path.join(ROOT, 'test', 'install', 'tools', 'managers', 'node_modules');
const NPM = fs.realpathSync(path.join(path.dirname(process.execPath), 'npm'));
const YARN_1 = path.join(TOOLS, 'yarn', 'bin', 'yarn.js');
const YARN_4 = path.join(TOOLS, '@yarnpkg', 'cli-dist', 'bin', 'yarn.js');
const PNPM = path.join(TOOLS, 'pnpm', 'bin', 'pnpm.cjs');
const BUN = path.join(TOOLS, '@oven', 'bun-linux-x64', 'bin', 'bun');
const NOBODY = 65534;

/** @param {Sandbox} sandbox @param {string[]} args */
const npm = (sandbox, args, options = {}) => sandbox.run('node', [NPM, ...args], options);

/** @param {Sandbox} sandbox @param {Record<string, string>} dependencies */
function declare(sandbox, dependencies, more = {}) {
  const manifest = { name: 'application', version: '1.0.0', private: true, dependencies, ...more };
  sandbox.write('package.json', JSON.stringify(manifest));
}

/** @param {string} tarball */
const fromFile = (tarball) => ({ holdfast: `file:${tarball}` });

/**
 * @param {Sandbox} sandbox
 * @param {string} linker
 * @param {Record<string, string>} dependencies
 * @param {string} [registry]
 */
function yarn4(sandbox, linker, dependencies, registry) {
  declare(sandbox, dependencies);
  sandbox.write('yarn.lock', '');
  const settings = {
    enableTelemetry: false,
    enableGlobalCache: false,
    pnpEnableEsmLoader: true, // otherwise import finds no package
    nodeLinker: linker,
    ...(registry && { npmRegistryServer: registry, unsafeHttpWhitelist: ['127.0.0.1'] }),
    npmMinimalAgeGate: 0,
  };
  sandbox.write('.yarnrc.yml', JSON.stringify(settings));
  sandbox.run('node', [YARN_4, 'install', '--no-immutable']);
}

/** @param {Sandbox} sandbox @param {number} uid */
function giveTo(sandbox, uid) {
  const folders = [
    sandbox.root,
    sandbox.project,
    sandbox.lockFolder,
    path.join(sandbox.root, 'home'),
  ];
  for (const folder of folders) fs.chownSync(folder, uid, uid);
  for (const file of fs.readdirSync(sandbox.project)) {
    fs.chownSync(path.join(sandbox.project, file), uid, uid);
  }
}

/** @param {string} folder @param {number} bits that are taken away */
function chmodBelow(folder, bits) {
  for (const entry of fs.readdirSync(folder, { withFileTypes: true, recursive: true })) {
    const file = path.join(entry.parentPath, entry.name);
    if (!entry.isSymbolicLink()) fs.chmodSync(file, fs.statSync(file).mode & ~bits);
  }
}

/** @type {Way[]} */
const WAYS = [
  {
    name: 'npm install',
    isShort: true,
    install: (sandbox, { tarball }) => void npm(sandbox, ['install', tarball]),
  },
  {
    name: 'npm ci',
    isShort: true,
    install(sandbox, { tarball }) {
      npm(sandbox, ['install', '--package-lock-only', tarball]);
      npm(sandbox, ['ci']);
    },
  },
  {
    name: 'npm rebuild',
    isShort: true,
    install(sandbox, { tarball }) {
      npm(sandbox, ['install', tarball]);
      npm(sandbox, ['rebuild']);
      npm(sandbox, ['rebuild', 'holdfast']);
    },
  },
  {
    name: 'npm install, without scripts',
    install: (sandbox, { tarball }) => void npm(sandbox, ['install', '--ignore-scripts', tarball]),
  },
  {
    name: 'npm install, from a registry',
    needsRegistry: true,
    install: (sandbox, { registry }) =>
      void npm(sandbox, ['install', 'holdfast', '--registry', registry]),
  },
  {
    name: 'npm ci, from a registry',
    needsRegistry: true,
    install(sandbox, { registry }) {
      npm(sandbox, ['install', '--package-lock-only', 'holdfast', '--registry', registry]);
      npm(sandbox, ['ci', '--registry', registry]);
    },
  },
  {
    name: 'npm link',
    install: (sandbox, { unpacked }) =>
      void npm(sandbox, ['install', '--install-links=false', unpacked]),
  },
  {
    name: 'Yarn 1',
    install(sandbox, { tarball }) {
      declare(sandbox, fromFile(tarball));
      sandbox.run('node', [YARN_1, 'install', '--offline', '--no-progress']);
      sandbox.run('node', [YARN_1, 'install', '--frozen-lockfile', '--offline', '--force']);
    },
  },
  {
    name: 'Yarn 1, from a registry',
    needsRegistry: true,
    install: (sandbox, { registry }) =>
      void sandbox.run('node', [YARN_1, 'add', 'holdfast', '--registry', registry]),
  },
  {
    name: 'Yarn 4, node-modules',
    install: (sandbox, { tarball }) => yarn4(sandbox, 'node-modules', fromFile(tarball)),
  },
  {
    name: 'Yarn 4, from a registry',
    needsRegistry: true,
    install: (sandbox, { registry }) => yarn4(sandbox, 'node-modules', { holdfast: '*' }, registry),
  },
  {
    name: 'Yarn 4, Plug’n’Play',
    install(sandbox, { tarball }) {
      yarn4(sandbox, 'pnp', fromFile(tarball));
      return (file) => sandbox.run('node', [YARN_4, 'node', file]);
    },
  },
  {
    name: 'pnpm',
    install(sandbox, { tarball }) {
      declare(sandbox, fromFile(tarball));
      sandbox.run('node', [PNPM, 'install', '--no-frozen-lockfile']);
      sandbox.run('node', [PNPM, 'install', '--frozen-lockfile']);
    },
  },
  {
    name: 'pnpm, from a registry',
    needsRegistry: true,
    install: (sandbox, { registry }) =>
      void sandbox.run('node', [PNPM, 'add', 'holdfast', '--registry', registry]),
  },
  {
    name: 'Bun as installer',
    install(sandbox, { tarball }) {
      declare(sandbox, fromFile(tarball));
      sandbox.run(BUN, ['install']);
    },
  },
  {
    name: 'Bun as installer, from a registry',
    needsRegistry: true,
    install: (sandbox, { registry }) =>
      void sandbox.run(BUN, ['add', 'holdfast', '--registry', registry]),
  },
  {
    name: 'a path with spaces and umlauts',
    folder: 'ein Weg mit Ümläuten',
    isShort: true,
    install: (sandbox, { tarball }) => void npm(sandbox, ['install', tarball]),
  },
  {
    name: 'read-only, as another user',
    install(sandbox, { tarball }) {
      npm(sandbox, ['install', tarball]);
      chmodBelow(path.join(sandbox.project, 'node_modules'), 0o222);
      giveTo(sandbox, NOBODY);
      return (file) => sandbox.run('node', [file], { uid: NOBODY });
    },
  },
  {
    name: 'installed by another user',
    install(sandbox, { tarball }) {
      giveTo(sandbox, NOBODY);
      npm(sandbox, ['install', tarball], { uid: NOBODY });
      return (file) => sandbox.run('node', [file], { uid: NOBODY });
    },
  },
];

/** Checks the addon that a program has loaded. @param {string | undefined} file */
function checkAddon(file) {
  const wanted = path.join('prebuilds', ownTarget(), 'holdfast.node');
  if (file === undefined || !file.endsWith(wanted)) {
    throw new Error(`it loaded ${file}, and not the delivered ${wanted}`);
  }
}

/**
 * @param {Sandbox} sandbox
 * @param {Way} way
 * @param {Parameters<Way['install']>[1]} source
 * @returns {number} milliseconds from the empty folder to the end of the program
 */
function installAndLock(sandbox, way, source) {
  const start = performance.now();
  const run = way.install(sandbox, source) ?? undefined;
  const { addon } = runExclusion(sandbox, run);
  const time = performance.now() - start;
  checkAddon(addon);
  return time;
}

/**
 * Two processes that exclude each other by a lock.
 * @param {Sandbox} sandbox  in which holdfast is installed
 * @param {Run} [run]
 * @returns {{ addon: string | undefined }} the file that was loaded
 */
function runExclusion(sandbox, run = (file) => sandbox.run('node', [file])) {
  const program = path.join(__dirname, 'exclusion-program.js');
  sandbox.write('program.cjs', fs.readFileSync(program, 'utf8'));
  return JSON.parse(/** @type {string} */ (run('program.cjs').trim().split('\n').at(-1)));
}

module.exports = { NPM, WAYS, installAndLock, npm, runExclusion };
