'use strict';

// One contender of a scenario, once, in this process: measure.js <scenario> <contender>. Writes its
// figures to descriptor 3, so that nothing else that is printed gets between.

const fs = require('node:fs');
const { loadScenario } = require('./scenarios.js');

const [scenarioName, contenderName] = process.argv.slice(2);

async function main() {
  const figures = await loadScenario(scenarioName).contenders[contenderName].measure();
  fs.writeSync(3, JSON.stringify(figures));
  process.exit(0);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
