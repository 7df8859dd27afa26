'use strict';

const { textOf } = require('../../support/markdown.js');

test('the README is read in two minutes: 300 words each, with its code and marks', () => {
  expect(textOf('README.md').trim().split(/\s+/).length).toBeLessThanOrEqual(600);
});
