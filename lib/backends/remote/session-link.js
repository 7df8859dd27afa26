'use strict';

const { ThreadLink } = require('./thread-link.js');

/** The way to the thread of a session. The session is closed when this is collected. */
class SessionLink extends ThreadLink {
  /**
   * @param {{ engine: string }} data  for the thread
   * @param {(message: any) => void} onMessage
   * @param {number} [maxStartMs]
   */
  constructor(data, onMessage, maxStartMs) {
    const program = /** @type {const} */ ({
      file: 'session-thread.js',
      title: `The thread of the session with ${data.engine}`,
      name: `holdfast ${data.engine} session`,
    });
    super(program, data, onMessage, maxStartMs);
  }

  /** The buffer that the thread shares with this one. */
  get shared() {
    return this.state.buffer;
  }

  /** It is lost, as far as this side knows. @param {string} session */
  isSessionOver(session) {
    return this.state.isSessionOver(session);
  }

  /** There is a session that is valid. */
  get hasSession() {
    const { session } = this.state;
    return session !== undefined && !this.state.isSessionOver(session);
  }
}

module.exports = { SessionLink };
