'use strict';

const { describeOneClient } = require('../support/conformance.js');

describeOneClient('the end of the stack', (run) => {
  test(
    'keeps no lock, at whatever frame before it the program calls',
    run(async ({ locks, assert, name }) => {
      const FRAMES = 150; // before the end
      /** A release that cannot even begin is the program's own to repeat. */
      const FIRST = { requestSync: 1, request: 1, release: 20 };
      /** Makes a call that many frames before the end of the stack; the error, if it throws. */
      function callBeforeTheEnd(distance, call) {
        let frame = 0;
        let thrown;
        const descend = () => {
          try {
            descend();
          } catch {
            // The end. From here on the frames return, one after the other.
          }
          frame += 1;
          if (frame !== distance) return;
          try {
            call();
          } catch (error) {
            thrown = error;
          }
        };
        descend();
        return thrown;
      }
      const errors = { requestSync: 0, request: 0, release: 0 };
      /** Of request(). Its handler is added with the whole stack: a call may have no room. */
      let released = Promise.resolve();
      for (const method of Object.keys(errors)) {
        for (let distance = FIRST[method]; distance < FRAMES; distance += 1) {
          const lock = `${name} ${method} ${distance}`;
          const handle = method === 'release' ? await locks.acquire(lock) : undefined;
          const calls = {
            requestSync: () => locks.requestSync(lock, () => {}),
            request: () => (released = locks.request(lock, () => {})),
            release: () => handle.release(),
          };
          // A function is compiled at its first call, which takes more room than the call.
          if (distance === FIRST[method]) calls[method]();
          released.catch(() => {});
          const error = callBeforeTheEnd(distance, calls[method]);
          released.catch(() => {});
          if (error === undefined) continue;
          assert.equal(error.name, 'RangeError'); // of whatever realm
          errors[method] += 1;
        }
      }
      assert.ok(errors.requestSync > 0);
      await locks.request(name, () => {}); // after all that is sent
      const { held, pending } = await locks.query();
      const isOwn = (info) => info.name.startsWith(name);
      assert.deepEqual([...held, ...pending].filter(isOwn), []);
    }),
  );

  test(
    'a release that throws can be repeated until it does not',
    run(async ({ locks, assert, name }) => {
      for (let i = 0; i < 3; i += 1) {
        const handle = await locks.acquire(name);
        let isReleased = false;
        const descend = () => {
          try {
            descend();
          } catch (error) {
            try {
              if (!isReleased) handle.release();
              isReleased = true;
            } catch {
              // The caller has more room, and repeats it.
            }
            throw error;
          }
        };
        assert.throws(descend, { name: 'RangeError' });
        assert.ok(isReleased);
        await locks.request(name, { timeout: 30_000 }, () => {});
      }
    }),
  );
});
