'use strict';

// npm run test:runtimes [--short] [bun] [deno] [plain] [patterns…]: the conformance suite, the
// extensions, the broker and the scheduler on Bun, on Deno, and on this Node without the native
// part. What cannot pass there is in test/runtimes/differences.js, with its reason.

const { conclude } = require('./steps/counts.js');
const { RUNTIME_NAMES, runtimeSteps } = require('./steps/runtime-steps.js');

const args = process.argv.slice(2);
const names = args.filter((arg) => RUNTIME_NAMES.includes(arg));
const patterns = args.filter((arg) => !arg.startsWith('--') && !names.includes(arg));

conclude(
  runtimeSteps({
    isShort: args.includes('--short'),
    names: names.length > 0 ? names : RUNTIME_NAMES,
    patterns,
  }),
);
