'use strict';

// The entry point of the package. `npm run build` puts the modules of lib/ into two files, which
// load in half the time; where they have not been made, the modules load one by one.

const { existsSync } = require('node:fs');
const path = require('node:path');

const bundle = path.join(__dirname, '..', 'dist', 'index.js');

module.exports = existsSync(bundle) ? require(bundle) : require('./index.js');
