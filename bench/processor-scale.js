'use strict';

// node bench/processor-scale.js [--costs JSON]: how hand-overs scale with processors, simulated
// with the costs in processors/costs.json (docs/scaling.md says where they are from).

const path = require('node:path');
const { parseArgs } = require('node:util');
const { simulate } = require('./processors/simulate.js');

const PROCESSORS = [2, 16, 64];
const PARTIES = [2, 4, 8, 32, 64];
const NAMES = [1, 4, 64];
/** What could be otherwise in the lock table. */
const LAYOUTS = {
  'as it is': {},
  'a token word for each shard': { tokenPerShard: true },
  'four shards in a cache line': { shardsPerLine: 4 },
};

const { values } = parseArgs({ options: { costs: { type: 'string', default: '{}' } } });
const costs = {
  ...require(path.join(__dirname, 'processors', 'costs.json')),
  ...JSON.parse(values.costs),
};

/** @param {number} value */
const thousands = (value) => Math.round(value / 1e3);

for (const [title, layout] of Object.entries(LAYOUTS)) {
  console.log(`\n${title}: sections a second, in thousands`);
  console.table(
    PARTIES.flatMap((parties) =>
      NAMES.map((names) => ({
        parties,
        names,
        ...Object.fromEntries(
          PROCESSORS.map((processors) => {
            const found = simulate({ costs, processors, parties, names, ...layout });
            return [`${processors} processors`, thousands(found.sectionsPerSecond)];
          }),
        ),
      })),
    ),
  );
}
