'use strict';

/** @typedef {import('../../types/backend.d.ts').LockBackendRequest} Request */

/**
 * Refuses a name or label that is longer than the backend takes, before it is sent anywhere.
 * @param {Pick<Request, 'name' | 'extras'>} request
 * @param {number} maxUnits  UTF-16 code units
 * @throws DOMException (QuotaExceededError)
 */
function checkTexts({ name, extras }, maxUnits) {
  for (const [what, text] of Object.entries({ name, label: extras?.label ?? '' })) {
    if (text.length <= maxUnits) continue;
    const limit = `it has ${text.length} characters, and this backend takes ${maxUnits}`;
    throw new DOMException(`The ${what} of the lock is too long: ${limit}`, 'QuotaExceededError');
  }
}

module.exports = { checkTexts };
