'use strict';

const { spawn } = require('node:child_process');
const { join } = require('node:path');
const { createInterface } = require('node:readline');
const { ProcessBucket } = require('../support/process-bucket.js');
const { TestAddon } = require('../support/test-addon.js');

const PROGRAM = join(__dirname, 'driven-loop-program.js');

const addon = new TestAddon('driven-loop');
let bucket;
let child;
beforeAll(() => addon.build());
afterAll(() => addon.remove());
beforeEach(() => {
  bucket = new ProcessBucket(); // without the sweep, which would find a grant in a second
});
afterEach(async () => {
  child.kill('SIGKILL');
  await bucket.close();
});

const PHASES = ['outside of the loop', 'in a timer', 'in an immediate'];
const WORDS = [
  ['asks for a lock', 'granted'],
  ['watches', 'released'],
];

// No phase of a loop that is driven so says when the sleep begins: it has to be rung always.
test.each(WORDS.flatMap(([what, received]) => PHASES.map((phase) => [what, phase, received])))(
  'a loop that the program drives and sleeps for %s, %s, and receives: %s',
  async (what, phase, received) => {
    const release = await bucket.hold('a');
    child = spawn(process.execPath, [PROGRAM, bucket.directory, what, phase, addon.file], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const words = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const nextWord = async () => (await words.next()).value;
    expect(await nextWord()).toBe('asked');
    await release();
    expect(await nextWord()).toBe(received);
    expect(await nextWord()).toBe('quiet');
  },
);
