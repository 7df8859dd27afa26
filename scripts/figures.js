'use strict';

// node scripts/figures.js: puts the figures of bench/RESULTS.md into README.md. `npm run bench`
// does it at its end, and a test compares them.

const { putFigures } = require('./steps/figures.js');

putFigures();
