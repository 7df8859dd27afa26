'use strict';

const fs = require('node:fs');

/**
 * @param {number} pid
 * @returns {() => number} the processor time of its main thread, in ms
 */
function openProcessorClock(pid) {
  const fd = fs.openSync(`/proc/${pid}/schedstat`);
  const text = Buffer.alloc(64);
  return () => {
    const length = fs.readSync(fd, text, 0, text.length, 0);
    return Number(text.toString('latin1', 0, length).split(' ')[0]) / 1e6;
  };
}

/** @returns {() => number} the processor time of this thread, in ms */
function openThreadClock() {
  const fd = fs.openSync('/proc/thread-self/schedstat');
  const text = Buffer.alloc(64);
  return () => {
    process.cpuUsage(); // the kernel brings the figure up to date, as it does not for a file
    const length = fs.readSync(fd, text, 0, text.length, 0);
    return Number(text.toString('latin1', 0, length).split(' ')[0]) / 1e6;
  };
}

module.exports = { openProcessorClock, openThreadClock };
