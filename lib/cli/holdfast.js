#!/usr/bin/env node
'use strict';

// The program `holdfast`. In the package its commands are two files: `exec` may be started often,
// and its file is a third of the other one.

const { run } =
  process.argv[2] === 'exec' ? require('./exec-program.js') : require('./full-program.js');

run(process.argv);
