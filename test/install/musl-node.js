'use strict';

// A Node whose C library is musl, on a machine with glibc: the musl of Debian, and the Node in
// npm's single-file pnpm, which is a plain Node once its fuse is off. Alpine's libstdc++ is in no
// package of either: Debian's libstdc++ runs over musl, with a library of what it lacks there.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { ROOT, StepError, mustRun } = require('../../scripts/steps/run.js');
const { ensureToolchain } = require('../../scripts/steps/toolchain.js');

const PACKAGE = '@pnpm/linuxstatic-x64';
const VERSION = '11.21.0';
/** Node looks here whether a program is inside; a digit follows (postject). */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2:';

/** Symbols of glibc that Debian's libstdc++ and libgcc use, and one of a newer libstdc++. */
const MISSING = `
typedef unsigned long size_t;
long getrandom(void*, size_t, unsigned);
size_t strftime_l(char*, size_t, const char*, const void*, void*);
void* memmove(void*, const void*, size_t);

char __libc_single_threaded = 0;
unsigned __cpu_model[4];
int __cpu_indicator_init(void) { return 0; }
int _dl_find_object(void* at, void* result) { return -1; } // the unwinder then asks the loader
int __cxa_thread_atexit_impl(void (*f)(void*), void* object, void* dso) { return 0; }

unsigned arc4random(void) {
  unsigned value = 0;
  getrandom(&value, sizeof value, 0);
  return value;
}

size_t __strftime_l(char* to, size_t size, const char* format, const void* time, void* locale) {
  return strftime_l(to, size, format, time, locale);
}

// std::string::_M_replace_cold() of GCC 13: the text may be a part of the string.
void replace(void* self, char* p, size_t old, const char* s, size_t length, size_t tail)
    __asm__("_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE15_M_replace_coldEPcmPKcmm");
void replace(void* self, char* p, size_t old, const char* s, size_t length, size_t tail) {
  if (length && length <= old) memmove(p, s, length);
  if (tail && old != length) memmove(p + length, p + old, tail);
  if (length <= old) return;
  if (s + length <= p + old) {
    memmove(p, s, length);
  } else if (s >= p + old) {
    memmove(p, p + (s - p) + (length - old), length);
  } else {
    const size_t left = (p + old) - s;
    memmove(p, s, left);
    memmove(p + left, p + length, length - left);
  }
}
`;

/** @param {string} folder @param {string} file @param {string} source */
function compileLibrary(folder, file, source) {
  const options = ['-O1', '-shared', '-nostdlib', '-fPIC', '-fno-builtin', '-x', 'c', '-'];
  const output = ['-o', path.join(folder, file)];
  execFileSync('gcc', [...options, ...output], { input: source });
}

/** @param {string} name  of a library of the compiler */
const compilersFile = (name) =>
  execFileSync('gcc', [`-print-file-name=${name}`], { encoding: 'utf8' }).trim();

/** @param {string} from  a single executable application @param {string} to */
function withoutProgram(from, to) {
  const bytes = fs.readFileSync(from);
  const at = bytes.indexOf(FUSE);
  if (at < 0) throw new StepError(`${from} is no single executable application of Node`);
  bytes[at + FUSE.length] = '0'.charCodeAt(0);
  fs.writeFileSync(to, bytes, { mode: 0o755 });
}

/**
 * @returns {{ node: string, env: Record<string, string> }} env: for it, and for no program of glibc
 */
function muslNode() {
  ensureToolchain('musl');
  const folder = path.join(ROOT, 'build', 'nodes', `musl-${VERSION}`);
  const node = path.join(folder, 'node');
  if (!fs.existsSync(node)) {
    const options = ['--no-save', '--no-package-lock', '--no-audit', '--no-fund', '--force'];
    mustRun('npm', ['install', ...options, '--prefix', folder, `${PACKAGE}@${VERSION}`]);
    for (const library of ['libstdc++.so.6', 'libgcc_s.so.1']) {
      fs.copyFileSync(compilersFile(library), path.join(folder, library));
    }
    compileLibrary(folder, 'ld-linux-x86-64.so.2', ''); // of glibc: its part is musl's
    compileLibrary(folder, 'missing.so', MISSING);
    withoutProgram(path.join(folder, 'node_modules', PACKAGE, 'pnpm'), node);
  }
  return { node, env: { LD_LIBRARY_PATH: folder, LD_PRELOAD: path.join(folder, 'missing.so') } };
}

module.exports = { muslNode };
