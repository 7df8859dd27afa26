'use strict';

const { runJsTests } = require('../../../scripts/steps/suites.js');

test('patterns choose the tests that run', () => {
  const { passed, failed } = runJsTests({
    report: 'of-one-file',
    args: ['test/package/lazy.test.js'],
  });
  expect(failed).toBe(0);
  expect(passed).toBeGreaterThan(0);
  expect(passed).toBeLessThan(20);
});
