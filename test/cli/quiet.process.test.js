'use strict';

const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { BlockGraph } = require('../../lib/cli/block-graph.js');
const { CommandLine } = require('../support/cli.js');

// A healthy system has no deadlock in any look, however many of its requests wait. Most looks are
// taken here, by the graph of all commands: the start of a command takes seconds on a busy machine.

const LIBRARY = path.join(__dirname, '../../lib/index.js');
/** Longer than a program waits before it warns of a deadlock. */
const CHECKS_MS = 3_000;

let cli;
afterEach(() => cli.close());

/** A program with `locks` and `pause(ms)`, which prints `begun` once. */
async function start(body) {
  const program = `
    const { locks } = require(${JSON.stringify(LIBRARY)});
    const { setTimeout: pause } = require('node:timers/promises');
    process.on('warning', ({ code, message }) => console.log(code, message));
    ${body}`;
  const running = cli.start(['-e', program], { program: [process.execPath] });
  await running.line(/begun/);
  return running;
}

/** No look finds a deadlock, and no program has a warning of one. */
async function expectQuiet(programs) {
  for (const end = performance.now() + CHECKS_MS; performance.now() < end; await sleep(10)) {
    expect(new BlockGraph(await cli.locks.inspect()).deadlocks).toEqual([]);
  }
  const graph = cli.run(['graph']);
  expect(graph.stdout).not.toContain('DEADLOCK');
  expect(graph.status).toBe(0);
  expect(cli.json(['graph'])[0].deadlocks).toEqual([]);
  expect(cli.run(['doctor']).stdout).not.toContain('a deadlock of');
  expect(cli.json(['top'])[0].deadlocks).toEqual([]);
  for (const program of programs) {
    program.kill('SIGKILL');
    await program.ended;
    expect(await program.line(/HOLDFAST_DEADLOCK/)).toBeUndefined();
  }
}

describe.each(['shm:', 'broker:'])('over %s', (url) => {
  beforeEach(() => {
    cli = new CommandLine(url);
  });

  test('servers whose loops wait for each other, with nothing nested', async () => {
    const loops = `
    for (let i = 0; i < 10; i += 1) {
      (async () => {
        for (;;) {
          const ms = 5 + Math.floor(Math.random() * 45);
          await locks.request('user ' + Math.floor(Math.random() * 8), () => pause(ms));
        }
      })();
    }
    console.log('begun');`;
    await expectQuiet([await start(loops), await start(loops), await start(loops)]);
  });

  test('two processes that lead one role each, and stand by for the role of the other', async () => {
    const leader = (own, other) => `
    locks.request('${own}', () => {
      console.log('begun');
      return new Promise(() => {});
    });
    process.stdin.once('data', () => {
      locks.request('${other}', () => new Promise(() => {}));
    });`;
    const leaders = [await start(leader('a', 'b')), await start(leader('b', 'a'))];
    for (const one of leaders) one.write('stand by\n');
    let pending = [];
    while (pending.filter(({ waited }) => waited >= 1000).length < leaders.length) {
      ({ pending } = await cli.locks.inspect());
    }
    await expectQuiet(leaders);
  });
});
