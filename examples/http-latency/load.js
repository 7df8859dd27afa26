'use strict';

// The load: sends requests at a fixed rate for some time, and reports how long each answer took.
// An answer's time begins when the request was due.

const http = require('node:http');

const [port, seconds] = process.argv.slice(2).map(Number);
const RATE = 150; // a second

const agent = new http.Agent({ keepAlive: true });
/** @type {number[]} in ms */
const latencies = [];
const start = performance.now();
let sent = 0;
let answered = 0;

/** @param {number} due  by performance.now() */
function send(due) {
  http.get({ port, host: '127.0.0.1', agent }, (response) => {
    response.resume().on('end', () => {
      latencies.push(performance.now() - due);
      answered += 1;
      if (sent === RATE * seconds && answered === sent) process.send?.(latencies);
    });
  });
}

const timer = setInterval(() => {
  while (sent < RATE * seconds) {
    const due = start + (sent * 1_000) / RATE;
    if (due > performance.now()) return;
    sent += 1;
    send(due);
  }
  clearInterval(timer);
}, 1);

process.on('disconnect', () => process.exit());
