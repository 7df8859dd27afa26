'use strict';

// examples/http-latency, for a short time and without its claim: the claim needs an idle machine.

const { spawnSync } = require('node:child_process');
const { mkdtempSync, readFileSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');

const MAIN = join(__dirname, '../../examples/http-latency/main.js');

test('the example runs and draws every way in the terminal and as SVG', () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-example-'));
  try {
    const svg = join(directory, 'chart.svg');
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [MAIN, '--seconds', '1', '--svg', svg],
      { encoding: 'utf8' },
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const chunks = [...stdout.matchAll(/, (\d+) chunks of work done$/gm)].map(([, n]) => Number(n));
    expect(chunks).toEqual([0, expect.any(Number), expect.any(Number)]);
    expect(Math.min(...chunks.slice(1))).toBeGreaterThan(0);
    expect(readFileSync(svg, 'utf8').match(/<g transform/g)).toHaveLength(3);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
