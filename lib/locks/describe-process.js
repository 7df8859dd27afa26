'use strict';

/** @param {number} pid  0: of another PID namespace, where no number says anything here */
const describeProcess = (pid) => (pid === 0 ? 'a process elsewhere' : `process ${pid}`);

module.exports = { describeProcess };
