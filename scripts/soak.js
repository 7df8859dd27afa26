'use strict';

// The long kill storm of real processes: `npm run test:soak [kills]`, 20,000 by default.

const { buildAddon } = require('./steps/addon.js');
const { conclude } = require('./steps/counts.js');
const { runJsTests } = require('./steps/js-tests.js');

const KILLS = process.argv[2] ?? '20000';
const PROCESSES = '8';

conclude([
  {
    title: `kill storm, ${KILLS} kills`,
    run: () => {
      buildAddon();
      process.env.HOLDFAST_STORM_KILLS = KILLS;
      process.env.HOLDFAST_STORM_PROCESSES = PROCESSES;
      return runJsTests({ report: 'soak', args: ['test/process/kill-storm.test.js'] });
    },
  },
]);
