#!/usr/bin/env node
'use strict';

// The program `holdfast`. In the package it is one file with all that it needs, dist/cli.js.

const { run } = require('./program.js');

run(process.argv);
