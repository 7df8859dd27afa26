'use strict';

const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { openLockManager } = require('../../lib/index.js');
const { FaultControl, FaultyProcess } = require('../support/faulty-process.js');
const { describeWithPreload } = require('../support/preload/index.js');

// Each system call of the addon fails in turn, in one of two processes that want one lock: once, or
// from then on, until the path is walked. HOLDFAST_FAULTS=long tries every error of each call, and
// all calls from each one on. HOLDFAST_SEED=<seed> repeats where it begins.
const IS_LONG = process.env.HOLDFAST_FAULTS === 'long';
/** A failure that is left to the sweep takes a second each time, so not all of them in each run. */
const STEPS = IS_LONG ? { once: 1, 'from then on': 1 } : { once: 3, 'from then on': 9 };
const SEED = Number(process.env.HOLDFAST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const CAPACITY = 1 << 20;
/** Errors that a user can act on; an OperationError carries the message of the system. */
const CLEAR = ['QuotaExceededError', 'SecurityError', 'InvalidStateError', 'OperationError'];
const FOR_GOOD = Number.MAX_SAFE_INTEGER;

describeWithPreload('faults', 'when a system call fails', (library) => {
  let root;
  let control;
  let faulty;
  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), 'holdfast-'));
    const file = join(root, 'faults');
    control = new FaultControl(file);
    faulty = new FaultyProcess({ env: { LD_PRELOAD: library, HOLDFAST_TEST_FAULTS: file } });
  });
  afterAll(async () => {
    await faulty.kill();
    control.close();
    rmSync(root, { recursive: true, force: true });
  });

  const isClear = (error) => {
    expect(CLEAR).toContain(error.name);
    expect(error.message.length).toBeGreaterThan(20);
  };

  /** Its request and one of this process behind each other, in both orders; all of them settle. */
  async function contend(locks) {
    let release;
    let first;
    await new Promise((held) => {
      first = locks.request('a', () => {
        held();
        return new Promise((resolve) => (release = resolve));
      });
    });
    const { requested, granted, settled } = faulty.request('a');
    await requested;
    release();
    await first;
    const outcome = await Promise.race([granted, settled]);
    const next = locks.request('a', () => 'had it');
    if (outcome === 'granted') {
      const left = faulty.order('leave');
      const { error } = await settled;
      await left;
      if (error !== undefined) isClear(error);
    } else {
      isClear(outcome.error);
    }
    expect(await next).toBe('had it');
  }

  /** From opening the bucket to closing it. */
  async function walk(options) {
    const opened = await faulty.order('open', options);
    if (opened.error !== undefined) {
      isClear(opened.error);
      return faulty.order('close');
    }
    const locks = openLockManager(options);
    try {
      await contend(locks);
      const checked = await faulty.order('check');
      if (checked.error !== undefined) isClear(checked.error);
      expect(await faulty.order('close')).toEqual({});
      // Nothing of what it held or asked for is left.
      expect(await locks.query()).toEqual({ held: [], pending: [] });
    } finally {
      locks.close();
    }
  }

  async function worksAgain(options) {
    expect(await faulty.order('open', options)).toEqual({ value: 'opened' });
    const { granted, settled } = faulty.request('a');
    await granted;
    await faulty.order('leave');
    expect(await settled).toEqual({ value: 'left' });
    await faulty.order('close');
  }

  const failedCalls = new Set();

  /** Gives false once the path has no so many calls. */
  async function failAt(first, last, variant) {
    const directory = mkdtempSync(join(root, 'bucket-'));
    const options = { directory, bucket: 'faults', capacity: CAPACITY };
    const before = await faulty.order('count');
    control.set({ first, last, variant });
    await walk(options);
    const { failed, name } = control.read();
    control.set();
    if (failed > 0) failedCalls.add(name);
    await worksAgain(options);
    expect([first, name, await faulty.order('count')]).toEqual([first, name, before]);
    rmSync(directory, { recursive: true, force: true });
    return failed > 0;
  }

  const variants = IS_LONG ? [0, 1, 2] : [0];
  const cases = variants.flatMap((variant) => [
    ['once', variant],
    ['from then on', variant],
  ]);

  test.each(cases)(
    '%s, every promise settles, no signal comes, later work works (error %d)' +
      ` (HOLDFAST_SEED=${SEED})`,
    async (how, variant) => {
      await walk({
        directory: mkdtempSync(join(root, 'warm-')),
        bucket: 'faults',
        capacity: CAPACITY,
      });
      let first = 1 + (SEED % STEPS[how]);
      while (await failAt(first, how === 'once' ? first : FOR_GOOD, variant)) first += STEPS[how];
      console.log(`${first} calls fail ${how}: ${[...failedCalls].sort().join(', ')}`);
      expect(first).toBeGreaterThan(30);
    },
    600_000,
  );
});
