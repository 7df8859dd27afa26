'use strict';

const { sharedByCopies } = require('../copies.js');

/**
 * An agent that can give its descriptors and its seat in the lock table back, and takes new ones
 * at its next use.
 * @typedef {object} DetachableAgent
 * @property {() => boolean} detachIfIdle  true: it had no lock, no request and no watch
 */

/**
 * This many agents of a thread stay attached while they are idle. Development servers evaluate the
 * package again and again, and keep what they have evaluated.
 */
const MAX_ATTACHED = 16;

/** @type {WeakRef<DetachableAgent>[]} of this thread, by all copies; the oldest first */
const attached = sharedByCopies('attachedAgents.1', () => []);

/**
 * To be called by each agent that attaches: beyond MAX_ATTACHED, the oldest idle ones detach.
 * @param {DetachableAgent} agent
 */
function noteAttached(agent) {
  const others = attached.filter((other) => ![undefined, agent].includes(other.deref()));
  let surplus = others.length + 1 - MAX_ATTACHED;
  const kept = others.filter((other) => {
    const detaches = surplus > 0 && other.deref()?.detachIfIdle() === true;
    if (detaches) surplus -= 1;
    return !detaches;
  });
  attached.splice(0, Infinity, ...kept, new WeakRef(agent));
}

module.exports = { MAX_ATTACHED, noteAttached };
