'use strict';

const { Rejection, openPromise, takeResolve } = require('../../lib/scheduler/scheduler-task.js');

test('a promise resolves by the function that was taken', async () => {
  const promise = openPromise();
  const resolve = takeResolve();
  const other = openPromise();
  takeResolve()('other');
  resolve('own');
  expect(await Promise.all([promise, other])).toEqual(['own', 'other']);
});

test('it rejects by a Rejection as soon as by a rejecting function, with any reason', async () => {
  const ids = [];
  const promise = openPromise();
  const resolve = takeResolve();
  const handled = promise.catch((reason) => ids.push(reason));
  const plain = Promise.reject(new Error('of the test')).catch(() => ids.push('plain'));
  for (const reason of [undefined, { then: () => {} }]) {
    const rejected = openPromise();
    takeResolve()(new Rejection(reason));
    await expect(
      rejected.then(
        () => 'resolved',
        (caught) => [caught],
      ),
    ).resolves.toEqual([reason]);
  }
  await plain;
  resolve(new Rejection('first'));
  resolve('too late');
  const after = Promise.resolve().then(() => ids.push('after'));
  await Promise.all([handled, after]);
  expect(ids).toEqual(['plain', 'first', 'after']);
});
