'use strict';

const { describeTwoClients, unique } = require('../support/conformance.js');

const NAMES = {
  'the empty string': '',
  'a NUL': '\0',
  'text with a NUL inside': 'a\0b',
  'a lone high surrogate': '\ud800',
  'a lone low surrogate': '\udc00',
  'a replacement character': '\ufffd',
  'a surrogate pair': '\u{1f512}',
  'surrogates the wrong way round': '\udd12\ud83d',
  'a precomposed letter': '\u00e9',
  'a letter with a combining accent': 'e\u0301',
  'a byte order mark': '\ufeff',
  'a line break': '\r\n',
  'a path': '../../etc/passwd',
  'the name of an inherited property': '__proto__',
  '32 code units': 'x'.repeat(32),
  '33 code units': 'x'.repeat(33),
};
const LONG_NAME = 'y\ud800'.repeat(500_000);

// Web Locks, #resource-names: JavaScript strings, compared code unit by code unit.
describeTwoClients('names', (clients) => {
  test.each(Object.keys(NAMES))('%s is a name, the same one in both clients', async (title) => {
    const { first, second } = clients;
    const name = NAMES[title];
    const holder = await first.hold(name);
    const refused = await second.request(name, { ifAvailable: true });
    expect(await refused.granted).toBeNull();
    expect((await holder.granted).name === name).toBe(true);
    const { held } = await second.query();
    expect(held.map((info) => info.name === name)).toEqual([true]);
    await refused.release();
    await holder.release();
  });

  test('a million code units are a name, or are refused', async () => {
    const { first, second, hasLongNames } = clients;
    const holder = await first.request(LONG_NAME);
    if (hasLongNames) {
      expect((await holder.granted).name === LONG_NAME).toBe(true);
      const refused = await second.request(LONG_NAME, { ifAvailable: true });
      expect(await refused.granted).toBeNull();
      await refused.release();
      await holder.release();
    } else {
      const message = expect.stringMatching(/too long: it has 1000000 characters, .* takes 32768/);
      const reason = { name: 'QuotaExceededError', message };
      expect(await holder.settled).toMatchObject({ status: 'rejected', reason });
      expect(await first.isLocked(LONG_NAME)).toBe(false);
    }
  });

  test.each([
    ['ASCII characters', 'y'],
    ['characters of three bytes', '\u20ac'],
    ['lone surrogates', '\ud800'],
  ])(
    '32,768 %s are a name, which can be held, waited for, stolen and released',
    async (_, unit) => {
      const { first, second } = clients;
      const name = unit.repeat(2 ** 15);
      const label = '\0'.repeat(2 ** 15);
      const holder = await first.hold(name, { label });
      const waiters = [
        await second.request(name, { label }),
        await second.request(name, { label }),
      ];
      await holder.release();
      await waiters[0].granted;
      const stealer = await first.hold(name, { label, steal: true });
      expect(await waiters[0].settled).toMatchObject({ status: 'rejected' });
      await stealer.release();
      await waiters[1].granted;
      expect(await waiters[1].release('done')).toEqual({ status: 'fulfilled', value: 'done' });
    },
  );

  test('a lock with a long name is handed off by a holder that waits for it again', async () => {
    const { first, second } = clients;
    const name = unique('name').padEnd(2 ** 15, '\u20ac');
    const holder = await first.hold(name);
    const waiters = [];
    for (const client of [second, first, second]) waiters.push(await client.request(name));
    await first.query();
    await holder.release();
    for (const waiter of waiters) {
      await waiter.granted;
      await waiter.release();
    }
  });

  test('all of these are different names', async () => {
    const { first, second } = clients;
    const holders = [];
    for (const [index, name] of Object.values(NAMES).entries()) {
      const client = index % 2 === 0 ? first : second;
      const request = await client.request(name, { ifAvailable: true });
      expect(await request.granted).not.toBeNull();
      holders.push(request);
    }
    expect((await first.query()).held).toHaveLength(holders.length);
    for (const holder of holders) await holder.release();
  });

  test('long names that differ in their last code unit only are different', async () => {
    const { first, second } = clients;
    const prefix = unique('name').padEnd(1_000, 'z');
    const holders = [await first.hold(`${prefix}1`), await second.hold(`${prefix}2`)];
    expect((await first.query()).held).toHaveLength(2);
    for (const holder of holders) await holder.release();
  });

  test('a name is converted to a string', async () => {
    const results = await clients.first.run(async ({ locks }) => {
      const names = [undefined, null, 1, true, ['a', 'b'], { toString: () => 'mine' }];
      return Promise.all(names.map((name) => locks.request(name, (lock) => lock.name)));
    });
    expect(results).toEqual(['undefined', 'null', '1', 'true', 'a,b', 'mine']);
  });
});
