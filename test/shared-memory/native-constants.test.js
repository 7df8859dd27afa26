'use strict';

const numbers = require('../../lib/backends/shared-memory/native-constants.js');
const { loadBinding } = require('../../lib/binding.js');

test('they are the constants of the native part', () => {
  expect(loadBinding()).toMatchObject(numbers);
});
