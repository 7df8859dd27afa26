'use strict';

// The Node binaries that the benchmarks run on: this one, and others that come from npm.

const path = require('node:path');
const { createRequire } = require('node:module');
const { execFileSync } = require('node:child_process');

const requirePeer = createRequire(path.join(__dirname, '..', 'package.json'));

/**
 * @param {'22' | '24' | '26' | undefined} major undefined: this Node
 * @returns {string}
 */
function nodeBinary(major) {
  if (major === undefined) return process.execPath;
  return path.join(path.dirname(requirePeer.resolve(`node-${major}/package.json`)), 'bin', 'node');
}

/** @param {'22' | '24' | '26' | undefined} major */
function whyNoNode(major) {
  try {
    execFileSync(nodeBinary(major), ['--version'], { stdio: 'ignore' });
    return undefined;
  } catch {
    return `npm has no Node ${major} for this machine`;
  }
}

module.exports = { nodeBinary, whyNoNode };
