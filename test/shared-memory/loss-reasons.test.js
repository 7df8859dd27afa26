'use strict';

const {
  EVENT_DISCONNECTED,
  reasonOfEvent,
  reasonOfLoss,
} = require('../../lib/backends/shared-memory/agent-requests.js');
const numbers = require('../../lib/backends/shared-memory/native-constants.js');
const { loadBinding } = require('../../lib/binding.js');

test.each([
  [numbers.EVENT_LOST, 'stolen'],
  [numbers.EVENT_EXPIRED, 'expired'],
  [numbers.EVENT_CORRUPTED, 'disconnected'],
  [EVENT_DISCONNECTED, 'disconnected'],
  [numbers.EVENT_RELEASED, undefined],
  [numbers.EVENT_GRANTED, undefined],
  [numbers.EVENT_FAILED, undefined],
])('event %i reports a lock that was lost: %s', (kind, reason) => {
  expect(reasonOfEvent(kind)).toBe(reason);
});

test.each([
  [0, undefined],
  [loadBinding().LOSS_STOLEN, 'stolen'],
  [numbers.LOSS_EXPIRED, 'expired'],
  [numbers.LOSS_CORRUPTED, 'disconnected'],
])('answer %i to a release reports a lock that was lost: %s', (loss, reason) => {
  expect(reasonOfLoss(loss)).toBe(reason);
});
