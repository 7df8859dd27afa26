'use strict';

const { setImmediate: turn } = require('node:timers/promises');
const { setFlagsFromString } = require('node:v8');
const { runInNewContext } = require('node:vm');
const { StepQueue } = require('../../lib/backends/etcd/step-queue.js');

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');

/** Steps of which each adds the next one, so that the queue never runs dry before the last. */
function runSteps(count, onStep) {
  return new Promise((resolve) => {
    const failed = [];
    const steps = new StepQueue(
      (error) => failed.push(error),
      () => resolve(failed),
    );
    const add = (index) =>
      steps.addTo(
        async ([item]) => {
          if (index + 1 < count) add(index + 1);
          await onStep(item);
        },
        { index },
      );
    add(0);
  });
}

test('steps run one after the other, in order', async () => {
  const ran = [];
  const failed = await runSteps(200, async ({ index }) => {
    ran.push(`${index} begins`);
    await turn();
    ran.push(`${index} ends`);
  });
  expect(failed).toEqual([]);
  expect(ran).toEqual(
    Array.from({ length: 200 }, (_, index) => [`${index} begins`, `${index} ends`]).flat(),
  );
});

test('those that are done are not kept, also where there is always a next one', async () => {
  const items = [];
  let kept;
  const failed = await runSteps(500, async (item) => {
    items.push(new WeakRef(item));
    await turn();
    if (item.index !== 499) return;
    collect();
    kept = items.filter((it) => it.deref() !== undefined).length;
  });
  expect(failed).toEqual([]);
  expect(kept).toBeLessThan(100);
});
