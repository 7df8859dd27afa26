'use strict';

// How the addon is compiled outside node-gyp; binding.gyp says the same to node-gyp, and why.

const DEFINES = ['-DNAPI_VERSION=8', '-DNODE_ADDON_API_DISABLE_CPP_EXCEPTIONS', '-DNDEBUG'];

const COMPILER_OPTIONS = [
  '-std=c++20',
  '-O2',
  '-fPIC',
  '-fno-exceptions',
  '-fvisibility=hidden',
  '-fvisibility-inlines-hidden',
  '-ffunction-sections',
  '-fdata-sections',
  '-Isrc',
];

const LINKER_OPTIONS = ['-shared', '-Wl,-z,nodelete', '-Wl,--gc-sections'];

module.exports = { COMPILER_OPTIONS, DEFINES, LINKER_OPTIONS };
