'use strict';

// The header of each shard counts its cells in use. No allocation follows a corrupted count: a
// reader needs room for no more cells than the table has.

const { spawnSync } = require('node:child_process');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');

const INDEX = require.resolve('../../lib/index.js');
const HEADERS_AT = 4096;
const HEADER_BYTES = 256;
const USED_COUNT_AT = 24; // layout.h, ShardHeader
const SHARDS = 64;
const MAX_GROWTH_KB = 256 * 1024; // the table has 64 MiB; 64 times its cells are over a GiB

let directory;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'holdfast-counts-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

function queryWithCorruption() {
  const program = `
    const fs = require('node:fs');
    const { openLockManager } = require(${JSON.stringify(INDEX)});
    const locks = openLockManager({ directory: ${JSON.stringify(directory)} });
    locks.request('a', async () => {
      await locks.query();
      const before = process.resourceUsage().maxRSS;
      const file = fs.openSync(${JSON.stringify(path.join(directory, 'default', 'segment'))}, 'r+');
      for (let i = 0; i < ${SHARDS}; i += 1) {
        const at = ${HEADERS_AT} + ${HEADER_BYTES} * i + ${USED_COUNT_AT};
        fs.writeSync(file, new Uint8Array([255, 255, 255, 127]), 0, 4, at);
      }
      const { held } = await locks.query();
      const growth = process.resourceUsage().maxRSS - before;
      console.log(JSON.stringify({ held: held.map(({ name }) => name), growth }));
      process.exit();
    });
  `;
  const { stdout } = spawnSync(process.execPath, ['-e', program], { encoding: 'utf8' });
  return JSON.parse(stdout);
}

test('query() answers, in bounded memory, although every count of used cells is corrupted', () => {
  const { held, growth } = queryWithCorruption();
  expect(held).toEqual(['a']);
  expect(growth).toBeLessThan(MAX_GROWTH_KB);
});
