'use strict';

const { makeDirectory } = require('../harness/bucket.js');
const { measureSizes } = require('../harness/queues.js');
const { open, serve, whyNot } = require('../peers/holdfast-postgres.js');

const SIZES = [1_000, 10_000];
const LEAST_REQUESTS = 3_000;
/** Their requests take turns, so that each release hands the lock over to another session. */
const SESSIONS = 4;

async function measure() {
  const directory = makeDirectory();
  await serve(directory);
  const setup = { directory, name: 'ledger', party: 0, parties: 1 };
  const all = await Promise.all(Array.from({ length: SESSIONS }, () => open(setup)));
  let count = 0;
  const run = (section) => all[(count += 1) % SESSIONS].run(section);
  return measureSizes(run, SIZES, LEAST_REQUESTS);
}

/** @type {import('../harness/scenarios.js').Scenario} */
module.exports = {
  goal: 17,
  group: 'postgres',
  title: `Requests of ${SESSIONS} sessions queued for one name at once, per request`,
  rounds: 3,
  contenders: { holdfast: { whyNot, measure } },
  goals: [
    {
      of: 'holdfast',
      figure: '10000 ns',
      per: 'holdfast',
      perFigure: '1000 ns',
      atMost: 1.5,
    },
  ],
};
