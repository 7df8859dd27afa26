'use strict';

// npm test -- runtimes [--short] [bun] [deno] [plain] [patterns…]: the conformance suite, the
// extensions, the broker and the scheduler on Bun, on Deno, and on this Node without the native
// part; the demonstration and the examples there; processes of Node, Bun and Deno with one broker.
// What cannot pass is in test/runtimes/differences.js, with its reason.

const { beWhole } = require('../../test/support/lengths.js');
const { build } = require('../steps/build.js');
const { conclude } = require('../steps/counts.js');
const { RUNTIME_NAMES, runtimeSteps } = require('../steps/runtime-steps.js');

const args = process.argv.slice(2);
const names = args.filter((arg) => RUNTIME_NAMES.includes(arg));
const patterns = args.filter((arg) => !arg.startsWith('--') && !names.includes(arg));

beWhole();
build(); // the demonstration and the examples use what is built
conclude(
  runtimeSteps({
    isShort: args.includes('--short'),
    names: names.length > 0 ? names : RUNTIME_NAMES,
    patterns,
  }),
);
