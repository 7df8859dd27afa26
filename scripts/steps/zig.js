'use strict';

// Zig, the cross compiler of the delivered binaries: an npm package in a folder of its own, because
// it takes 350 MB and most who work here never need it.

const path = require('node:path');
const { installIn } = require('./packages.js');
const { ROOT, StepError } = require('./run.js');

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

module.exports = { ZIG_FOLDER: FOLDER, ZIG_ENV, ensureZig };
