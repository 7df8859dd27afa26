'use strict';

const { execFileSync } = require('node:child_process');
const path = require('node:path');

const ROOT = path.join(__dirname, '../..');
const PROGRAM = path.join(ROOT, 'build/mortal-processes');
/**
 * The objects of the native part that `npm run build` has compiled, without the binding to Node.
 */
const OBJECTS = ['core', 'platform', 'segment'].map((part) =>
  path.join(ROOT, `build/Release/obj.target/holdfast/build/unity/${part}.o`),
);

/** Builds the program of mortal-processes.cc. @returns {string} its path */
function buildMortalProcesses() {
  const source = path.join(__dirname, 'mortal-processes.cc');
  const include = path.join(ROOT, 'src');
  const flags = ['-std=c++20', '-O1', '-pthread', `-I${include}`];
  execFileSync(process.env.CXX ?? 'c++', [...flags, '-o', PROGRAM, source, ...OBJECTS], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return PROGRAM;
}

module.exports = { buildMortalProcesses };
