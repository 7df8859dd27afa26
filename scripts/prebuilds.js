'use strict';

// npm run prebuilds [-- target…]: builds the binaries that the package is delivered with into
// prebuilds/, all of them or those whose name starts so: `npm run prebuilds -- linux-arm64`.

const path = require('node:path');
const { checkBinary } = require('./steps/elf.js');
const { ensurePackages } = require('./steps/packages.js');
const { GLIBC, TARGETS, buildTarget } = require('./steps/prebuild.js');
const { ROOT, StepError } = require('./steps/run.js');
const { ensureZig } = require('./steps/zig.js');

/** @param {string[]} wanted */
function chosen(wanted) {
  const targets = TARGETS.filter(
    ({ name }) => wanted.length === 0 || wanted.some((start) => name.startsWith(start)),
  );
  if (targets.length > 0) return targets;
  throw new StepError(`there are ${TARGETS.map(({ name }) => name).join(', ')}`);
}

try {
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
} catch (error) {
  if (!(error instanceof StepError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
