'use strict';

const BARS = '▁▂▃▄▅▆▇█';

/**
 * @param {number[]} values  the newest last
 * @param {number} width
 * @returns {string} as wide; a dot where there is no value, or nothing happened
 */
function sparkline(values, width) {
  const shown = values.slice(-width);
  const most = Math.max(...shown, 0);
  const bars = shown.map((value) => {
    if (value === 0 || most === 0) return '·';
    return BARS[Math.min(BARS.length - 1, Math.floor((value / most) * BARS.length))];
  });
  return '·'.repeat(Math.max(0, width - bars.length)) + bars.join('');
}

module.exports = { sparkline };
