'use strict';

const { SingleBar, Presets } = require('cli-progress');

/**
 * @typedef {object} View
 * @property {(number: number, details: { audits: number, event: string }) => void} update
 * @property {() => void} end
 */

/**
 * A progress bar that is drawn anew in its place.
 * @param {number} total
 * @returns {View}
 */
function terminalView(total) {
  const format = '{bar} {percentage}% | {value} of {total} entries | {audits} audits | {event}';
  const bar = new SingleBar({ format, hideCursor: true, barsize: 30 }, Presets.shades_classic);
  bar.start(total, 0, { audits: 0, event: '' });
  return {
    update: (number, details) => bar.update(number, details),
    end: () => bar.stop(),
  };
}

/**
 * A line for each tenth, and for each event, where nothing can be drawn anew.
 * @param {number} total
 * @returns {View}
 */
function plainView(total) {
  let tenths = 0;
  let shown = '';
  return {
    update(number, { audits, event }) {
      const reached = Math.floor((10 * number) / total);
      if (reached === tenths && event === shown) return;
      tenths = reached;
      shown = event;
      console.log(`${number} of ${total} entries, ${audits} audits${event && ` - ${event}`}`);
    },
    end() {},
  };
}

/** @type {View} */
const silentView = { update() {}, end() {} };

module.exports = { plainView, silentView, terminalView };
