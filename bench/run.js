'use strict';
const { runScenario } = require('./harness/rounds.js');
(async () => { for (const n of process.argv[2].split(',')) {
const r = await runScenario(n, { rounds: Number(process.argv[3] ?? 1) });
console.log('##', n);
for (const [k, { figures, skipped }] of Object.entries(r.results)) console.log(k.padEnd(34), skipped ?? Object.entries(figures).map(([f, s]) => `${f}: ${s.median.toPrecision(4)}`).join('  '));
for (const g of r.goals) console.log('   ', g.isMet, g.value?.toFixed(3), g.atMost ?? g.atLeast, g.of, g.per, g.figure);
}})();
