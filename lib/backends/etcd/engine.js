'use strict';

// etcd in the thread of a session.

const { describe } = require('./etcd-errors.js');
const { LockSession } = require('./lock-session.js');
const { MachineLink } = require('./machine-link.js');

/**
 * @param {import('./cluster-options.js').ClusterOptions} options
 * @param {import('../remote/session-info.js').SessionInfo} agent
 * @param {import('../remote/session-thread.js').Thread} thread
 * @returns {LockSession}
 */
function openSession(options, agent, { post, state }) {
  const session = new LockSession(options, agent, post, {
    onSession(begun) {
      state.noteSession(begun?.lease);
      if (begun === undefined) return () => {};
      const cluster = `${begun.clusterId}/${options.prefix}`;
      const link = new MachineLink(cluster, begun.lease, (dead) => void session.revoke(dead));
      link.open();
      return () => link.close();
    },
    onExtended: (leftMs) => state.noteValidity(leftMs),
  });
  return session;
}

module.exports = { describe, openSession };
