'use strict';

// npm run build: builds the native addon into build/Release/holdfast.node.

const { build } = require('./steps/build.js');
const { StepError } = require('./steps/run.js');

try {
  build();
} catch (error) {
  if (!(error instanceof StepError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
