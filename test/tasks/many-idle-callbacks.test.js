'use strict';

const { runWithCollector: run } = require('../support/collector-program.js');

test('an idle callback costs about the same, however many wait', () => {
  const [few, many] = run(async ({ requestIdleCallback }) => {
    const TOTAL = 200_000;
    const cpuTime = async (atOnce) => {
      const start = process.cpuUsage().user;
      for (let ran = 0; ran < TOTAL; ran += atOnce) {
        for (let i = 1; i < atOnce; i += 1) requestIdleCallback(() => {});
        await new Promise((resolve) => requestIdleCallback(resolve));
      }
      return process.cpuUsage().user - start;
    };
    return [await cpuTime(1000), await cpuTime(TOTAL)];
  });
  // 2, by garbage collection; 19 if each callback passes over all before it.
  expect(many / few).toBeLessThan(6);
});
