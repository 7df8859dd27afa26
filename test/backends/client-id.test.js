'use strict';

const fs = require('node:fs');

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** @param {typeof fs.readFileSync} readFileSync */
function loadWith(readFileSync) {
  let createClientId;
  jest.isolateModules(() => {
    jest.doMock('node:fs', () => ({ ...fs, readFileSync }));
    ({ createClientId } = require('../../lib/backends/client-id.js'));
  });
  jest.dontMock('node:fs');
  return createClientId;
}

test.each([
  ['the system', fs.readFileSync],
  [
    'a system without a place for them',
    () => {
      throw new Error('no such file');
    },
  ],
])('random UUIDs, from %s', (_, readFileSync) => {
  const createClientId = loadWith(readFileSync);
  const ids = Array.from({ length: 100 }, () => createClientId());
  for (const id of ids) expect(id).toMatch(UUID);
  expect(new Set(ids).size).toBe(ids.length);
});
