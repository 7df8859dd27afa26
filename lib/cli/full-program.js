'use strict';

const { createProgram, run } = require('./program.js');

/**
 * In the order of the help text. Each is loaded when it is used, or shown.
 * @type {import('./program.js').Commands}
 */
const COMMANDS = {
  ls: () => require('./ls.js'),
  top: () => require('./top.js'),
  watch: () => require('./watch.js'),
  graph: () => require('./graph.js'),
  exec: () => require('./exec.js'),
  steal: () => require('./steal.js'),
  wait: () => require('./wait.js'),
  doctor: () => require('./doctor.js'),
  share: () => require('./share.js'),
  dashboard: () => require('./dashboard.js'),
  trace: () => require('./trace.js'),
  bench: () => require('./bench.js'),
  postgres: () => require('./postgres.js'),
  completion: () => require('./completion.js'),
};

module.exports = {
  createProgram: () => createProgram(COMMANDS),
  /** @param {string[]} argv  as of process.argv */
  run: (argv) => run(argv, COMMANDS),
};
