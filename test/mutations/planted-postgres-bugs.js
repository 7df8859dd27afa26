'use strict';

// Mistakes in the backend of PostgreSQL, from reviews of it. The tests start a server.

const ACCESS = 'test/postgres/access.postgres.test.js';
const SCHEMA = 'test/postgres/schema.postgres.test.js';
const SESSIONS = 'test/postgres/sessions.postgres.test.js';

/** @type {import('./planted-bugs.js').PlantedBug[]} */
const POSTGRES_BUGS = [
  {
    name: 'a connection finds functions of another role',
    file: 'lib/backends/postgres/connection.js',
    from: '  await client.query(SET_SEARCH_PATH);\n  await checkServer',
    to: '  await checkServer',
    tests: [ACCESS],
  },
  {
    name: 'a refusal in another language ends the session',
    file: 'lib/backends/postgres/postgres-errors.js',
    from: 'severity !== undefined &&',
    to: "severity === 'ERROR' &&",
    tests: [SESSIONS],
  },
  {
    name: 'a wait for a death has no end, and keeps old rows',
    file: 'lib/backends/postgres/death-watch.js',
    from: 'lockTimeoutMs: this.#maxWaitMs',
    to: 'lockTimeoutMs: 0',
    tests: ['test/postgres/death-watch.postgres.test.js'],
  },
  {
    name: 'a lock that is released leaves the timer of its hold limit',
    file: 'lib/backends/postgres/session.js',
    from: '      clearTimeout(this.#limitTimers.get(key)?.timer);\n      this.#limitTimers.delete(key);\n',
    to: '',
    tests: [SESSIONS],
  },
  {
    name: 'two steps on the same names wait for each other',
    file: 'lib/backends/postgres/step.js',
    from: 'if (keys.size > 1)',
    to: 'if (keys.size > 50)',
    tests: [SCHEMA],
  },
  {
    name: 'an inspection is one answer',
    file: 'lib/backends/postgres/session.js',
    from: '`FETCH ${PAGE_ROWS} FROM',
    to: '`FETCH ALL FROM',
    tests: ['test/postgres/silence.postgres.test.js'],
  },
  {
    name: 'garbage on the channel of events ends the thread',
    file: 'lib/backends/postgres/session.js',
    from: 'this.#noteLostEvent(); // a role with',
    to: 'throw new Error("garbage"); // a role with',
    tests: [ACCESS],
  },
  {
    name: 'a waiter that a call in a pause has not granted is not found',
    file: 'lib/backends/postgres/schema.js',
    from: "SELECT NULL, '-infinity' WHERE NOT EXISTS (",
    to: "SELECT NULL, '-infinity' WHERE false AND NOT EXISTS (",
    tests: [SCHEMA],
  },
  {
    name: 'a pause is as long as a clock that was set back says',
    file: 'lib/backends/postgres/schema.js',
    from: 'greatest(0, least(pause_ms, extract(epoch FROM grants_from - clock_timestamp()) * 1000))',
    to: 'greatest(0, extract(epoch FROM grants_from - clock_timestamp()) * 1000)',
    tests: [SCHEMA],
  },
  {
    name: 'over PostgreSQL a lock that is granted at once comes before older grants',
    file: 'lib/backends/postgres/session.js',
    from: "name === 'enter' ? [waits()]",
    to: "name === 'enter' ? [waits() && false]",
    tests: [SESSIONS],
  },
];

module.exports = { POSTGRES_BUGS };
