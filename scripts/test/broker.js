'use strict';

// The long run of the broker: `npm test -- broker [kills] [grants]`, 5,000 kills of brokers and
// clients mixed by default, and a million grants. Jest runs a short one of 10 kills.

const { conclude } = require('../steps/counts.js');
const { runJsTests } = require('../steps/js-tests.js');

const [kills = '5000', grants = '1000000'] = process.argv.slice(2);

conclude([
  {
    title: `storm of the broker, ${kills} kills`,
    run: () => {
      process.env.HOLDFAST_STORM_KILLS = kills;
      process.env.HOLDFAST_STORM_GRANTS = grants;
      return runJsTests({ report: 'broker', args: ['test/process/broker-storm.test.js'] });
    },
  },
]);
