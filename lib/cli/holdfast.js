#!/usr/bin/env node
'use strict';

// The program `holdfast`. In the package its commands are two files: `exec` may be started often,
// and its file is a third of the other one.

const { realpathSync } = require('node:fs');
const { createRequire } = require('node:module');

const requireBeside = createRequire(realpathSync(__filename)); // npm runs a link to it
const isExec = process.argv[2] === 'exec';
const { run } = requireBeside(isExec ? './exec-program.js' : './full-program.js');

run(process.argv);
