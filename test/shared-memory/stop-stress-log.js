'use strict';

/**
 * The notes of a process of the stress test about one request; times in nanoseconds.
 * @typedef {object} Note
 * @property {string} name
 * @property {boolean} steals
 * @property {number} requestBegan  request() was called after this
 * @property {number} requestReturned  and had returned by then
 * @property {number} [grantedAt]  the callback began
 * @property {number} [token]
 * @property {number} [releasedAt]  the callback was over, and the lock not released yet
 * @property {number} settledAt
 * @property {boolean} isLost
 * @property {boolean} isStillHeld  the lock was seen to be held after the promise had settled
 */

/**
 * The contradictions to the promises of the queue; all locks are exclusive.
 * @param {Note[]} notes
 * @returns {string[]}
 */
function findViolations(notes) {
  const granted = notes.filter(({ token }) => token !== undefined);
  const names = [...new Set(granted.map(({ name }) => name))];
  return names.flatMap((wanted) => {
    const ofName = granted.filter(({ name }) => name === wanted);
    const byToken = ofName.sort((a, b) => a.token - b.token);
    return [...overlaps(byToken), ...overtakings(byToken), ...lies(byToken)];
  });
}

/** Grants before the previous holder's release, without a steal. */
function overlaps(byToken) {
  return byToken.slice(1).flatMap((next, i) => {
    const before = byToken[i];
    const isNotified = before.isLost || next.steals;
    return isNotified || before.releasedAt <= next.grantedAt
      ? []
      : [`${next.token} of ${next.name} is granted while ${before.token} is held`];
  });
}

/** A request that had returned before another one began is granted before it. */
function overtakings(byToken) {
  const violations = [];
  let latest = { requestBegan: -Infinity };
  for (const note of byToken) {
    if (note.steals) continue;
    if (note.requestReturned < latest.requestBegan) {
      violations.push(`${latest.token} of ${note.name} overtakes ${note.token}`);
    }
    if (note.requestBegan > latest.requestBegan) latest = note;
  }
  return violations;
}

/** A promise that fulfils after the lock was stolen, or before its release. */
function lies(byToken) {
  let stealer;
  return byToken.toReversed().flatMap((note) => {
    const isStolen = stealer !== undefined && stealer.grantedAt < note.releasedAt;
    if (note.steals) stealer = note;
    return [
      ...(note.isStillHeld ? [`${note.token} of ${note.name} settles before its release`] : []),
      ...(isStolen && !note.isLost ? [`${note.token} of ${note.name} fulfils, but is stolen`] : []),
    ];
  });
}

module.exports = { findViolations };
