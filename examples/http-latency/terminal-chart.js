'use strict';

const WIDTH = 50;

/**
 * Draws histograms as bars of text.
 * @param {import('./main.js').Result[]} results
 * @returns {string}
 */
function drawInTerminal(results) {
  const most = Math.max(...results.flatMap(({ bins }) => bins.map(({ count }) => count)));
  const lines = [];
  for (const { title, bins, p50, p99, chunks } of results) {
    const numbers = `median ${p50.toFixed(1)} ms, 99 % within ${p99.toFixed(1)} ms`;
    lines.push('', `${title}: ${numbers}, ${chunks} chunks of work done`);
    for (const { label, count } of bins) {
      const bar = '█'.repeat(Math.ceil((count / most) * WIDTH));
      lines.push(`  ${label.padStart(9)} │${bar.padEnd(WIDTH)} ${count}`);
    }
  }
  return lines.join('\n');
}

module.exports = { drawInTerminal };
