'use strict';

const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { loadBinding } = require('../../lib/binding.js');
const { AgentRequests } = require('../../lib/backends/shared-memory/agent-requests.js');
const { openAgent, toAgentOptions } = require('../../lib/backends/shared-memory/backend.js');
const { createClientId } = require('../../lib/backends/client-id.js');

/** Arguments of the native functions that have more, or others, than two numbers. */
const ARGUMENTS = {
  request: ['name', 0],
  requestEnclosed: ['name', 0, 0, 0],
  requestEnclosedAgain: [0, 0, 0],
  requestWithExtras: ['name', 0, 0, 0, '', 0, 0, '', 1],
  isLocked: ['name', 1],
  holdersOf: ['name', 1],
  beginWaitWalk: [new Uint32Array(1), false],
  openWatch: ['name'],
  pauseWatch: [1, true],
};

let root;
beforeEach(() => (root = mkdtempSync(join(tmpdir(), 'holdfast-'))));
afterEach(() => rmSync(root, { recursive: true }));

test('every function of a closed native agent returns', () => {
  const native = loadBinding();
  const options = toAgentOptions(native, createClientId(), { directory: root });
  const agent = openAgent(native, options, new AgentRequests().words, () => {});
  agent.close();
  const functions = Object.entries(Object.getPrototypeOf(agent));
  expect(functions.length).toBeGreaterThan(Object.keys(ARGUMENTS).length);
  for (const [name, call] of functions) {
    expect(() => call(...(ARGUMENTS[name] ?? [1, 1]))).not.toThrow();
  }
});
