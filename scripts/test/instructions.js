'use strict';

// npm test -- instructions [--record]: compares the instructions of the native paths with the
// recorded counts, or records them.

const { conclude } = require('../steps/counts.js');
const { checkInstructions, recordInstructions } = require('../steps/instructions.js');
const { StepError } = require('../steps/run.js');

if (process.argv.includes('--record')) {
  try {
    recordInstructions();
  } catch (error) {
    if (!(error instanceof StepError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
} else {
  conclude([{ title: 'Instruction counts', run: checkInstructions }]);
}
