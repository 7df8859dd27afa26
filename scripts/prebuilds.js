'use strict';

// npm run prebuilds [-- target…]: builds the binaries that the package is delivered with into
// prebuilds/, all of them or those whose name starts so: `npm run prebuilds -- linux-arm64`.
// Each is the addon for one processor and one C library, with libc++ inside.

const { execFileSync } = require('node:child_process');
const { mkdirSync, rmSync, statSync } = require('node:fs');
const path = require('node:path');
const { mustRun, ROOT, runProgram, StepError } = require('./steps/run.js');
const {
  ensurePackages,
  ensureToolchain,
  ensureZig,
  ZIG_ENV,
  ZIG_FOLDER,
} = require('./steps/toolchain.js');
const { nodeHeaders } = require('./build.js');
const { addonSources, writeUnityFiles } = require('../packaging/from-source/gyp.js');

/**
 * The requirements of a delivered binary on the machine that loads it, as readelf prints them.
 * @typedef {object} Needs
 * @property {string} machine
 * @property {string[]} libraries
 * @property {string} glibc  newest version of a symbol; '0' where there is none
 * @property {string[]} exported  symbols that others can find
 * @property {string[]} variables  of a thread, that others can find or that are named in the file
 * @property {boolean} hasStaticTls
 */

/** The functions that Node calls. */
const EXPORTED = ['napi_register_module_v1', 'node_api_module_get_api_version_v1'];

/** The libraries of glibc, and musl's one library. The standard library of C++ is linked in. */
const SYSTEM_LIBRARY = /^(lib(c|m|dl|rt|pthread)\.so(\.\d)?|ld-linux-(x86-64|aarch64)\.so\.\d)$/;

/**
 * @param {string} version
 * @param {string} other
 */
const isNewer = (version, other) => version.localeCompare(other, 'en', { numeric: true }) > 0;

/**
 * @param {string} text  what `readelf --file-header --dynamic --syms --wide` prints
 * @returns {Needs}
 */
function needsOf(text) {
  const all = (/** @type {RegExp} */ pattern) =>
    [...text.matchAll(pattern)].map((match) => match[1]);
  const versions = all(/@GLIBC_([\d.]+)/g);
  const dynamic = /Symbol table '\.dynsym'[^]*?(?=\nSymbol table|$)/.exec(text)?.[0] ?? '';
  const defined = [...dynamic.matchAll(/(?:GLOBAL|WEAK)\s+\w+\s+(?!UND)\w+ (\S+)/g)];
  return {
    machine: /Machine:\s+(.*)/.exec(text)?.[1] ?? 'unknown',
    libraries: all(/\(NEEDED\).*\[(.*)\]/g),
    glibc: versions.reduce((newest, version) => (isNewer(version, newest) ? version : newest), '0'),
    exported: [...new Set(defined.map((match) => match[1]))].sort(),
    variables: [...new Set(all(/\sTLS\s+\w+\s+\w+\s+(?!UND)\w+ (\S+)/g))].sort(),
    hasStaticTls: /\(FLAGS\).*STATIC_TLS/.test(text),
  };
}

/** @param {string} file */
function readNeeds(file) {
  ensureToolchain('readelf');
  const options = ['--file-header', '--dynamic', '--syms', '--wide', file];
  const env = { ...process.env, LC_ALL: 'C' };
  return needsOf(execFileSync('readelf', options, { encoding: 'utf8', env, maxBuffer: 1 << 28 }));
}

/**
 * @param {Needs} needs
 * @param {Pick<Target, 'machine' | 'isGlibc'>} target
 * @param {string} glibc  the oldest that must do
 * @returns {string[]} What is wrong.
 */
function faultsOf(needs, { machine, isGlibc }, glibc) {
  const foreign = needs.libraries.filter((library) => !SYSTEM_LIBRARY.test(library));
  const isMuslLibrary = needs.libraries.includes('libc.so');
  const faults = [
    [!needs.machine.includes(machine), `it is for ${needs.machine}`],
    [isNewer(needs.glibc, glibc), `it needs glibc ${needs.glibc}`],
    [isGlibc === isMuslLibrary, `it needs ${needs.libraries.join(', ')}`],
    [foreign.length > 0, `it needs ${foreign.join(', ')}`],
    [needs.exported.join() !== EXPORTED.join(), `it exports ${needs.exported.join(', ')}`],
    // musl refuses it in what is loaded later, glibc has little room for it.
    [needs.hasStaticTls, 'it needs thread-local storage of the program'],
    [needs.variables.includes('errno'), 'it has its own errno'],
  ];
  return faults.filter(([isFault]) => isFault).map(([, fault]) => /** @type {string} */ (fault));
}

/**
 * @param {string} file
 * @param {Pick<Target, 'machine' | 'isGlibc' | 'name'>} target
 * @param {string} glibc
 */
function checkBinary(file, target, glibc) {
  const needs = readNeeds(file);
  const faults = faultsOf(needs, target, glibc);
  if (faults.length > 0) throw new StepError(`${target.name}: ${faults.join('; ')}`);
  return { ...needs, bytes: statSync(file).size };
}

/**
 * The sources of each request, release and grant. In the delivered binaries they are optimised for
 * speed, all others for size. Two thirds of the code run once a process, or after a death. Such
 * functions of the hot sources are `[[gnu::cold]]`, for which a compiler optimises for size too.
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
  // Zig builds the C++ library with this level; our objects keep the level of their compilation.
  const link = ['c++', '-target', target.triple, '-g', '-flto', '-Os', ...LINKER_OPTIONS];
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

module.exports = {
  checkBinary,
  faultsOf,
  needsOf,
  HOT_SOURCES,
  isHot,
  GLIBC,
  TARGETS,
  buildTarget,
};
