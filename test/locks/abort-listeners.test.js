'use strict';

const { getEventListeners } = require('node:events');
const { unwatchAbort, watchAbort } = require('../../lib/abort-listeners.js');

const createRequest = () => ({
  reasons: [],
  abort(reason) {
    this.reasons.push(reason);
  },
});
const countListeners = (signal) => getEventListeners(signal, 'abort').length;

let controller;
let signal;
beforeEach(() => {
  controller = new AbortController();
  ({ signal } = controller);
});

test('an abort reaches every request once, with the reason', () => {
  const requests = [createRequest(), createRequest()];
  for (const request of requests) watchAbort(signal, request);
  controller.abort('mine');
  expect(requests.map(({ reasons }) => reasons)).toEqual([['mine'], ['mine']]);
});

test('an unwatched request is not reached', () => {
  const requests = [createRequest(), createRequest()];
  for (const request of requests) watchAbort(signal, request);
  unwatchAbort(signal, requests[0]);
  controller.abort('mine');
  expect(requests.map(({ reasons }) => reasons)).toEqual([[], ['mine']]);
});

test('a signal has one listener while requests wait for it and none otherwise', () => {
  const requests = [createRequest(), createRequest()];
  const counts = [];
  for (const request of requests) {
    watchAbort(signal, request);
    counts.push(countListeners(signal));
  }
  for (const request of requests) {
    unwatchAbort(signal, request);
    counts.push(countListeners(signal));
  }
  expect(counts).toEqual([1, 1, 1, 0]);
});

test('a request can unwatch while the abort goes round', () => {
  const last = createRequest();
  const first = { abort: () => unwatchAbort(signal, last) };
  watchAbort(signal, first);
  watchAbort(signal, last);
  expect(() => controller.abort('mine')).not.toThrow();
});

test('unwatching what is not watched has no effect', () => {
  expect(() => unwatchAbort(signal, createRequest())).not.toThrow();
});

// Node 20.0 to 20.4 have no events.addAbortListener.
describe('without the listener that Node offers', () => {
  let watch;
  beforeEach(() => {
    jest.isolateModules(() => {
      jest.doMock('node:events', () => ({
        ...jest.requireActual('node:events'),
        addAbortListener: undefined,
      }));
      watch = require('../../lib/abort-listeners.js');
    });
    jest.dontMock('node:events');
  });

  test('an abort reaches every request', () => {
    const requests = [createRequest(), createRequest()];
    for (const request of requests) watch.watchAbort(signal, request);
    controller.abort('mine');
    expect(requests.map(({ reasons }) => reasons)).toEqual([['mine'], ['mine']]);
  });

  test('no listener is left when no request waits', () => {
    const request = createRequest();
    watch.watchAbort(signal, request);
    expect(countListeners(signal)).toBe(1);
    watch.unwatchAbort(signal, request);
    expect(countListeners(signal)).toBe(0);
  });
});
