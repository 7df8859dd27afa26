'use strict';

/**
 * How threads and processes end, by where the client lives, with what is seen of the end from
 * outside: the exit code or the signal.
 */
const ENDINGS = {
  process: [
    ['SIGKILL', 'SIGKILL'],
    ['SIGTERM', 'SIGTERM'],
    ['process.exit()', 7],
    ['an uncaught error', 1],
    ['its natural end', 0],
  ],
  thread: [
    ['process.exit()', 7],
    ['terminate()', 1],
    ['an uncaught error', 1],
    ['its natural end', 0],
  ],
  'thread of another process': [
    ['process.exit()', 7],
    ['terminate()', 1],
    ['an uncaught error', 1],
    ['its natural end', 0],
    ['SIGKILL of its process', 'SIGKILL'],
    ['process.exit() of the main thread', 7],
  ],
};

module.exports = { ENDINGS };
