'use strict';

const { PLANTED_BUGS } = require('./planted-bugs.js');
const { LOOP_BUGS } = require('./planted-loop-bugs.js');
const { OWNER_BUGS } = require('./planted-owner-bugs.js');
const { ACCESS_BUGS } = require('./planted-access-bugs.js');
const { PUBLICATION_BUGS } = require('./planted-publication-bugs.js');
const { BIAS_BUGS } = require('./planted-bias-bugs.js');
const { PACKAGE_BUGS: JAVASCRIPT_BUGS } = require('./planted-package-bugs.js');
const { PLATFORM_BUGS } = require('./planted-platform-bugs.js');
const { WATCH_BUGS } = require('./planted-watch-bugs.js');
const { ETCD_BUGS } = require('./planted-etcd-bugs.js');
const { POSTGRES_BUGS } = require('./planted-postgres-bugs.js');
const { PRIORITY_BUGS } = require('./planted-priority-bugs.js');

/** The newest first. */
const CORE_BUGS = [
  ...ACCESS_BUGS,
  ...PRIORITY_BUGS,
  ...LOOP_BUGS,
  ...PLATFORM_BUGS,
  ...BIAS_BUGS,
  ...PUBLICATION_BUGS,
  ...OWNER_BUGS,
  ...WATCH_BUGS,
  ...PLANTED_BUGS,
];

const PACKAGE_BUGS = [...ETCD_BUGS, ...POSTGRES_BUGS, ...JAVASCRIPT_BUGS];

/** The known mistakes that `npm test -- mutants` plants. */
const ALL_BUGS = [...PACKAGE_BUGS, ...CORE_BUGS];

module.exports = { ALL_BUGS, CORE_BUGS, PACKAGE_BUGS };
