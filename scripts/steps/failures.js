'use strict';

// What the end of a test command says of each failed test.

const path = require('node:path');
const { ROOT } = require('./run.js');

const MAX_LINES = 12;
const COLOURS = new RegExp(`${String.fromCharCode(27)}\\[[\\d;]*m`, 'g');

/**
 * @param {string} title
 * @param {string} text  what the test says; its beginning is enough
 */
function describeFailure(title, text) {
  const lines = text.replace(COLOURS, '').trim().split('\n');
  return [title, ...lines.slice(0, MAX_LINES)].join('\n  ');
}

/**
 * The failed tests of Jest's report.
 * @param {{ name: string, message: string, assertionResults: any[] }[]} files
 * @returns {string[]}
 */
const failuresOf = (files) =>
  files.flatMap(({ name, message, assertionResults }) => {
    const file = path.relative(ROOT, name);
    // A file that cannot be loaded has no tests.
    if (assertionResults.length === 0 && message !== '') return [describeFailure(file, message)];
    return assertionResults
      .filter(({ status }) => status === 'failed')
      .map(({ fullName, failureMessages }) =>
        describeFailure(`${file}: ${fullName}`, failureMessages.join('\n')),
      );
  });

module.exports = { describeFailure, failuresOf };
