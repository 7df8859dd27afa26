'use strict';

const BARS = '▁▂▃▄▅▆▇█';

/**
 * @param {number[]} values  the newest last
 * @param {{ width: number, span: number }} size  span: how many values the whole width stands for
 * @returns {string} as wide, each bar the mean of its values; a dot: nothing happened, or was known
 */
function sparkline(values, { width, span }) {
  const all = [...Array(Math.max(0, span - values.length)).fill(0), ...values.slice(-span)];
  const startOf = (/** @type {number} */ bar) => Math.floor((bar * span) / width);
  const means = Array.from({ length: width }, (_, bar) => {
    const part = all.slice(startOf(bar), Math.max(startOf(bar) + 1, startOf(bar + 1)));
    return part.reduce((sum, value) => sum + value, 0) / part.length;
  });
  const most = Math.max(...means);
  const toBar = (/** @type {number} */ mean) =>
    mean === 0 ? '·' : BARS[Math.min(BARS.length - 1, Math.floor((mean / most) * BARS.length))];
  return means.map(toBar).join('');
}

module.exports = { sparkline };
