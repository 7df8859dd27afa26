'use strict';

const { run } = require('./program.js');
const exec = require('./exec.js');

/** The program with `exec` alone. @param {string[]} argv  as of process.argv */
module.exports.run = (argv) => run(argv, { exec: () => exec });
