'use strict';

// Loads a delivered binary into a program that has musl as its C library, and functions that end
// the program in the place of Node's: every symbol is resolved, the constructors run, and so does
// what needs no Node.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { ensureToolchain } = require('../../scripts/steps/toolchain.js');

/** @param {string} file @returns {string[]} what the addon calls in Node */
function calledInNode(file) {
  const text = execFileSync('readelf', ['--dyn-syms', '--wide', file], { encoding: 'utf8' });
  const names = [...text.matchAll(/ UND ((?:napi|node_api|uv)_\w+)/g)].map((match) => match[1]);
  return [...new Set(names)];
}

/** @param {string[]} names */
const programFor = (names) => `
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

${names.map((name) => `void ${name}(void) { abort(); }`).join('\n')}

int main(int count, char** arguments) {
  void* const addon = dlopen(count > 1 ? arguments[1] : "", RTLD_NOW);
  if (addon == NULL) return fprintf(stderr, "%s\\n", dlerror()), 1;
  int (*const version)(void) = (int (*)(void))dlsym(addon, "node_api_module_get_api_version_v1");
  if (version == NULL || dlsym(addon, "napi_register_module_v1") == NULL) return 2;
  printf("Node-API %d\\n", version());
  return 0;
}
`;

/**
 * @param {string} file  the binary
 * @returns {string} what it said
 */
function runWithMusl(file) {
  ensureToolchain('musl', 'readelf');
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'holdfast-musl-'));
  try {
    const [source, program] = ['host.c', 'host'].map((name) => path.join(folder, name));
    const names = calledInNode(file);
    fs.writeFileSync(source, programFor(names));
    execFileSync('musl-gcc', ['-rdynamic', source, '-o', program]);
    const output = execFileSync(program, [file], { encoding: 'utf8' }).trim();
    if (output !== 'Node-API 8') throw new Error(output);
    return `${output}, ${names.length} functions of Node`;
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

module.exports = { runWithMusl };
