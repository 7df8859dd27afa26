'use strict';

// npm run prebuilds [-- target…]: builds the binaries that the package is delivered with into
// prebuilds/, all of them or those whose name starts so: `npm run prebuilds -- linux-arm64`.
// Each is the addon for one processor and one C library, with libc++ inside.

const { mkdirSync, rmSync } = require('node:fs');
const path = require('node:path');
const { nodeHeaders } = require('./build.js');
const { checkBinary } = require('./steps/elf.js');
const { addonSources, writeUnityFiles } = require('../packaging/from-source/gyp.js');
const { ROOT, StepError, mustRun, runProgram } = require('./steps/run.js');
const { ensureZig, ZIG_ENV, ZIG_FOLDER } = require('./steps/toolchain.js');
const { ensurePackages } = require('./steps/packages.js');

/**
 * The sources of each request, release and grant. In the delivered binaries they are optimised for
 * speed, all others for size: two thirds of the code run once a process, or after a death.
 */
const HOT_SOURCES = [
  'src/binding/agent_wrap.cc',
  'src/binding/js_values.cc',
  'src/binding/loop_hook.cc',
  'src/core/adaptive_spin.cc',
  'src/core/agent.cc',
  'src/core/lock_table.cc',
  'src/core/combiner.cc',
  'src/core/operation_pool.cc',
  'src/core/os_host.cc',
  'src/core/peer_doorbells.cc',
  'src/core/record_event.cc',
  'src/core/request_record.cc',
  'src/core/shard_rules.cc',
  'src/core/wake_queue.cc',
  'src/segment/event_list.cc',
  'src/segment/publication_list.cc',
  'src/segment/biased_record.cc',
  'src/segment/lock_word.cc',
  'src/segment/name_table.cc',
  'src/segment/record_pool.cc',
  'src/segment/request_list.cc',
  'src/segment/resource_name.cc',
  'src/segment/segment.cc',
  'src/segment/watch_ring.cc',
];

/** @param {string} source */
const isHot = (source) => HOT_SOURCES.includes(source);

/** @typedef {{ name: string, triple: string, machine: string, isGlibc: boolean }} Target */

/** The oldest C library that the binaries run with, which Debian 10 and RHEL 8 have. */
const GLIBC = '2.28';

/** @type {Target[]} `name` is the folder below prebuilds/ that lib/binding.js looks into. */
const TARGETS = [
  { arch: 'x64', cpu: 'x86_64', machine: 'X86-64' },
  { arch: 'arm64', cpu: 'aarch64', machine: 'AArch64' },
].flatMap(({ arch, cpu, machine }) => [
  { name: `linux-${arch}-glibc`, triple: `${cpu}-linux-gnu.${GLIBC}`, machine, isGlibc: true },
  { name: `linux-${arch}-musl`, triple: `${cpu}-linux-musl`, machine, isGlibc: false },
]);

// binding.gyp says the same to node-gyp, and why.
const DEFINES = ['-DNAPI_VERSION=8', '-DNODE_ADDON_API_DISABLE_CPP_EXCEPTIONS', '-DNDEBUG'];
const COMPILER_OPTIONS = [
  '-std=c++20',
  '-fPIC',
  '-fno-exceptions',
  '-fvisibility=hidden',
  '-fvisibility-inlines-hidden',
  '-ffunction-sections',
  '-fdata-sections',
  '-Isrc',
];

const LINKER_OPTIONS = [
  '-shared',
  '-Wl,-z,nodelete',
  '-Wl,--gc-sections',
  `-Wl,--version-script=${path.join(ZIG_FOLDER, 'exports.map')}`,
];

/** Folders of headers that are not of this project. */
const includes = () =>
  [path.dirname(require.resolve('node-addon-api/package.json')), nodeHeaders()].flatMap(
    (folder) => ['-isystem', folder],
  );

/**
 * @param {string} zig
 * @param {Target} target
 * @param {string} folder  for what is made on the way
 * @returns {string[]} Further objects to link.
 */
function extraObjects(zig, { triple, isGlibc }, folder) {
  const names = ['no-demangle', 'no-unwind', ...(isGlibc ? ['glibc-stat'] : [])];
  return names.map((name) => {
    const object = path.join(folder, `${name}.o`);
    const source = path.join(ZIG_FOLDER, `${name}.c`);
    const options = ['-target', triple, '-O2', '-fPIC', '-c', source, '-o', object];
    mustRun(zig, ['cc', ...options], { env: ZIG_ENV });
    return object;
  });
}

/**
 * @param {string} zig
 * @param {Target} target
 * @param {string} folder  for the objects
 * @returns {string[]} the objects
 */
function compileSources(zig, { triple }, folder) {
  const compiler = ['c++', '-target', triple, '-g', '-flto', ...COMPILER_OPTIONS, ...includes()];
  const compile = (/** @type {string} */ source, /** @type {string} */ level) => {
    const object = path.join(folder, `${path.basename(source)}.o`);
    mustRun(zig, [...compiler, ...DEFINES, level, '-c', source, '-o', object], { env: ZIG_ENV });
    return object;
  };
  const sources = addonSources();
  const cold = sources.filter((source) => !isHot(source));
  return [
    ...writeUnityFiles(sources.filter(isHot), '-hot').map((source) => compile(source, '-O2')),
    ...writeUnityFiles(cold, '-cold').map((source) => compile(source, '-Oz')),
  ];
}

/**
 * Leaves `prebuilds/<name>/holdfast.node` without, and `holdfast.node.debug` with what a debugger
 * needs. Throws where the binary needs more than it may.
 * @param {string} zig  the program
 * @param {Target} target
 */
function buildTarget(zig, target) {
  const work = path.join(ROOT, 'build', 'prebuilds', target.name);
  const folder = path.join(ROOT, 'prebuilds', target.name);
  for (const made of [work, folder]) {
    rmSync(made, { recursive: true, force: true });
    mkdirSync(made, { recursive: true });
  }
  const linked = path.join(work, 'holdfast.node');
  const objects = [...compileSources(zig, target, work), ...extraObjects(zig, target, work)];
  const link = ['c++', '-target', target.triple, '-g', '-flto', '-O2', ...LINKER_OPTIONS];
  mustRun(zig, [...link, ...objects, '-o', linked], { env: ZIG_ENV });
  checkBinary(linked, target, GLIBC);
  const stripped = path.join(folder, 'holdfast.node');
  // Beside each other: the one names the other by its file name.
  mustRun(
    zig,
    ['objcopy', '--strip-all', '--extract-to', 'holdfast.node.debug', linked, stripped],
    {
      cwd: folder,
    },
  );
}

/** @param {string[]} wanted */
function chosen(wanted) {
  const targets = TARGETS.filter(
    ({ name }) => wanted.length === 0 || wanted.some((start) => name.startsWith(start)),
  );
  if (targets.length > 0) return targets;
  throw new StepError(`there are ${TARGETS.map(({ name }) => name).join(', ')}`);
}

function main() {
  const targets = chosen(process.argv.slice(2));
  ensurePackages();
  const zig = ensureZig();
  for (const target of targets) {
    console.log(`\n== ${target.name}`);
    const start = performance.now();
    buildTarget(zig, target);
    const file = path.join(ROOT, 'prebuilds', target.name, 'holdfast.node');
    const { bytes, glibc } = checkBinary(file, target, GLIBC);
    const seconds = Math.round((performance.now() - start) / 1000);
    const library = target.isGlibc ? `glibc ${glibc}` : 'musl';
    console.log(`${target.name}: ${Math.ceil(bytes / 1024)} KiB, needs ${library}, ${seconds} s`);
  }
}

if (require.main === module) runProgram(main);

module.exports = { HOT_SOURCES, isHot, GLIBC, TARGETS, buildTarget };
