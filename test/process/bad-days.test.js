'use strict';

const { PROCESS_BACKENDS } = require('../support/process-backends.js');
const { ProcessBucket } = require('../support/process-bucket.js');

const HOLDERS = 8;

describe.each(Object.keys(PROCESS_BACKENDS))('over %s', (backend) => {
  let bucket;
  beforeEach(() => {
    bucket = new ProcessBucket({ backend });
  });
  afterEach(() => bucket.close());

  test.each([0, 1])(
    'the lock of a process that has died is free for timeout %d',
    async (timeout) => {
      const opened = Array.from({ length: HOLDERS }, () => bucket.open('process'));
      const actors = await Promise.all(opened);
      await Promise.all(actors.map((actor, at) => actor.hold(`n${at}`)));
      for (const { pid } of actors) process.kill(pid, 'SIGKILL');
      await Promise.all(actors.map(({ ended }) => ended));
      const results = actors.map((_, at) =>
        bucket.locks.request(`n${at}`, { timeout }, () => 'granted').catch(({ name }) => name),
      );
      expect(await Promise.all(results)).toEqual(actors.map(() => 'granted'));
    },
  );
});
