'use strict';

const { PendingRelease } = require('../../lib/locks/lock-request.js');

/** A request as a section sees it, and the reports that it received. */
function openSection(loss = undefined) {
  const ended = [];
  const request = { loss: undefined, end: (reason) => (ended.push(reason), loss) };
  const section = new PendingRelease(request);
  const released = Promise.resolve().then(() => section);
  return { ended, released, request, section };
}

const microtasks = async (count) => {
  for (let i = 0; i < count; i += 1) await undefined;
};

test('gives the lock back, then settles as the promise of the callback does', async () => {
  const { ended, released, section } = openSection();
  section.waitFor(Promise.resolve('value'));
  expect(await released).toBe('value');
  expect(ended).toEqual([undefined]);

  const failing = openSection();
  failing.section.waitFor(Promise.reject('mine'));
  await expect(failing.released).rejects.toBe('mine');
  expect(failing.ended).toEqual(['mine']);
});

test('waits for the requests inside, whatever the callback has come to', async () => {
  const { ended, released, section } = openSection();
  section.enterNested();
  section.enterNested();
  section.conclude(true, 'value');
  section.leaveNested();
  await microtasks(5);
  expect(ended).toEqual([]);
  section.leaveNested();
  expect(await released).toBe('value');
});

test('a loss rejects at once, and the end of the callback changes nothing', async () => {
  const { released, request, section } = openSection();
  section.waitFor(new Promise(() => {}));
  await microtasks(5);
  request.loss = 'lost';
  section.lose('lost');
  await expect(released).rejects.toBe('lost');
  section.conclude(true, 'value');
  await expect(released).rejects.toBe('lost');
});

test('a loss before the promise has asked rejects, too; so does a loss that the end brings', async () => {
  const early = openSection();
  early.request.loss = 'lost';
  early.section.lose('lost');
  await expect(early.released).rejects.toBe('lost');

  const late = openSection('expired');
  late.section.waitFor(Promise.resolve('value'));
  await expect(late.released).rejects.toBe('expired');
});
