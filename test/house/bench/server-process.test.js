'use strict';

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');

const HARNESS = path.join(__dirname, '../../../bench/harness/server-process.js');
const PROGRAM = `
  const { startServer } = require(${JSON.stringify(HARNESS)});
  console.log(startServer('sleep', ['infinity']).pid);
`;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Whether it runs; a process that has ended may still wait to be reaped. @param {number} pid */
function isRunning(pid) {
  try {
    return !/\) [ZX] /.test(fs.readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

test('a server ends with the process that measures, also where that one is killed', async () => {
  const measuring = spawn(process.execPath, ['-e', PROGRAM], { stdio: ['ignore', 'pipe', 2] });
  const [line] = await once(measuring.stdout, 'data');
  const pid = Number(line);
  while (!/^sleep/.test(fs.readFileSync(`/proc/${pid}/comm`, 'utf8'))) await pause(5);
  measuring.kill('SIGKILL');
  while (isRunning(pid)) await pause(5);
  expect(isRunning(pid)).toBe(false);
});
