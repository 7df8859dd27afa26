'use strict';

const { IF_AVAILABLE, PATIENT, SHARED, STEAL } = require('../wire.js');

/**
 * What crosses of a request: its number, its name, flags, the time at which it was made, extras.
 * @typedef {[id: number, name: string, flags: number, t: number, extras: WireExtras | null]} Asked
 */
/**
 * @typedef {[
 *   limit: number,
 *   holdLimit: number,
 *   label: string,
 *   callSite: string,
 *   high: number,
 *   low: number,
 * ]} WireExtras  the last two: the token of the lock in whose callback it was made
 */

/**
 * @param {WireExtras | null} extras
 * @returns {import('../../../../types/backend.d.ts').LockRequestExtras | undefined}
 */
function toExtras(extras) {
  if (extras === null) return undefined;
  const [limit, holdLimit, label, callSite, tokenHigh, tokenLow] = extras;
  const enclosing = /** @type {any} */ (
    tokenHigh === 0 && tokenLow === 0 ? undefined : { tokenHigh, tokenLow }
  );
  return { limit, holdLimit, label, callSite, deadlock: 'ignore', enclosing };
}

/** A request as the lock table sees it: it is told by its session, so it has no ears of its own. */
class RemoteRequest {
  tokenHigh = 0;
  tokenLow = 0;

  /** @param {Asked} asked */
  constructor([id, name, flags, t, extras]) {
    this.backendId = id;
    this.name = name;
    this.flags = flags;
    this.t = t;
    this.wireExtras = extras;
    this.extras = toExtras(extras);
    /** @type {'shared' | 'exclusive'} */
    this.mode = (flags & SHARED) === 0 ? 'exclusive' : 'shared';
    this.ifAvailable = (flags & IF_AVAILABLE) !== 0;
    this.steal = (flags & STEAL) !== 0;
  }

  get isPatient() {
    return (this.flags & PATIENT) !== 0;
  }

  granted() {}
  missed() {}
  failed() {}
  lost() {}

  get asked() {
    return [this.backendId, this.name, this.flags, this.t, this.wireExtras];
  }
}

module.exports = { RemoteRequest };
