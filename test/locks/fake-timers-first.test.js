'use strict';

const { mkdtempSync, readFileSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');

test('with the list of docs/testing.md fake timers may be there before the package', async () => {
  const page = readFileSync(join(__dirname, '../../docs/testing.md'), 'utf8');
  const [, list] = /doNotFake: \[(.*?)\]/.exec(page);
  jest.useFakeTimers({ doNotFake: list.split(', ').map((name) => name.slice(1, -1)) });
  const { openLockManager, scheduler } = require('../../lib/index.js');
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-fake-'));
  const manager = openLockManager({ directory });
  try {
    const held = await manager.acquire('a');
    const late = manager.request('a', { timeout: 5 }, () => {});
    await expect(late).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(await manager.request('a', { steal: true }, () => 'stolen')).toBe('stolen');
    expect(held.signal.aborted).toBe(true);
    expect(await scheduler.postTask(() => 'ran', { delay: 5 })).toBe('ran');
  } finally {
    manager.close();
    rmSync(directory, { recursive: true });
  }
});
