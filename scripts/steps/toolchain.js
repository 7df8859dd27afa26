'use strict';

// The programs and libraries outside npm that a step needs: found, installed where that is
// possible (Debian and its relatives, as root or with a sudo that asks nothing), or asked for.

const { spawnSync } = require('node:child_process');
const { existsSync } = require('node:fs');
const { StepError, run, succeeds } = require('./run.js');

/**
 * @typedef {object} Requirement
 * @property {string} name What is told to a person when it is missing.
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
 *   'browser' | 'flock' | 'models' | 'pictures')} toolchains
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

module.exports = { ensureToolchain };
