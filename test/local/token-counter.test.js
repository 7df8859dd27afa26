'use strict';

const { TokenCounter } = require('../../lib/backends/local/token-counter.js');

function nextOf(counter) {
  const request = { tokenHigh: 0, tokenLow: 0 };
  counter.stamp(request);
  return request;
}

const tokenOf = ({ tokenHigh, tokenLow }) => (BigInt(tokenHigh) << 32n) | BigInt(tokenLow);

test('each token is one above the one before', () => {
  const counter = new TokenCounter(3, 4);
  expect(nextOf(counter)).toEqual({ tokenHigh: 3, tokenLow: 5 });
  expect(nextOf(counter)).toEqual({ tokenHigh: 3, tokenLow: 6 });
});

test('the low half carries over into the high half', () => {
  const counter = new TokenCounter(3, 2 ** 32 - 2);
  expect(nextOf(counter)).toEqual({ tokenHigh: 3, tokenLow: 2 ** 32 - 1 });
  expect(nextOf(counter)).toEqual({ tokenHigh: 4, tokenLow: 0 });
});

test('a counter that starts a millisecond later is a million tokens ahead', () => {
  const nowMs = 1_800_000_004_095;
  const early = nextOf(TokenCounter.startingAt(nowMs));
  const late = nextOf(TokenCounter.startingAt(nowMs + 1));
  expect(tokenOf(late) - tokenOf(early)).toBe(2n ** 20n);
  for (const { tokenHigh, tokenLow } of [early, late]) {
    expect(tokenHigh).toBeLessThan(2 ** 32);
    expect(tokenLow).toBeLessThan(2 ** 32);
  }
});
