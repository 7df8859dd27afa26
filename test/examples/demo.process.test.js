'use strict';

const { spawnSync } = require('node:child_process');
const path = require('node:path');
const { describeMembers, GROUP, MEMBERS } = require('../support/members.js');

const MAIN = path.join(__dirname, '..', '..', 'demo', 'main.js');

function runDemo(options, variables = {}) {
  const demo = spawnSync(process.execPath, [MAIN, '--json', ...options], {
    encoding: 'utf8',
    env: { ...process.env, ...variables },
  });
  return {
    status: demo.status,
    result: demo.stdout && JSON.parse(demo.stdout),
    errors: demo.stderr,
  };
}

describe('the demonstration', () => {
  test('finds every increment, in order, although a holder is killed', () => {
    const { status, result, errors } = runDemo(['--increments', '2000']);
    expect(errors).toBe('');
    expect(result).toMatchObject({
      expected: 2000,
      found: 2000,
      violations: 0,
      auditViolations: 0,
      ok: true,
    });
    expect(result.killToGrantMs).not.toBeNull();
    expect(status).toBe(0);
  });

  test('kills its victim before the ledger is full, however little there is to do', () => {
    const { result } = runDemo(['--increments', '100']);
    expect(result).toMatchObject({ expected: 100, found: 100, ok: true });
  });

  test('fails without the lock', () => {
    const { status, result } = runDemo(['--increments', '2000', '--without-lock']);
    // The number found is the last one in a ledger that is corrupted by then: any number at all.
    expect(result.ok).toBe(false);
    expect(result.violations).toBeGreaterThan(0);
    expect(status).toBe(1);
  });
});

describeMembers('the demonstration with writers of two users of one group', () => {
  test('finds every increment, in order, although a holder is killed', () => {
    const [one, other] = MEMBERS;
    const { status, result, errors } = runDemo(['--increments', '2000'], {
      HOLDFAST_DEMO_GROUP: `${GROUP}`,
      HOLDFAST_DEMO_USERS: `${one.user} ${other.user}`,
    });
    expect(errors).toBe('');
    expect(result).toMatchObject({ expected: 2000, found: 2000, violations: 0, ok: true });
    expect(result.killToGrantMs).not.toBeNull();
    expect(status).toBe(0);
  });
});
