'use strict';

// node bench/scheduler-starvation.js: 100,000 tasks are queued at each priority in turn. Shows how
// often an interval of 1 ms fires and how many requests a loopback HTTP server answers. Also how
// soon a user-blocking task runs behind 10,000 background tasks.

const http = require('node:http');
const { Worker } = require('node:worker_threads');
const { scheduler } = require('../lib/index.js');

const COUNT = 100_000;
const PRIORITIES = ['user-blocking', 'user-visible', 'background'];
const TASK_US = 20;

function spin(us) {
  for (const end = process.hrtime.bigint() + BigInt(us * 1e3); process.hrtime.bigint() < end;);
}

/** Asks the server again and again from a separate thread; gives the latencies in ms. */
function startClient(port) {
  const source = `
    const http = require('node:http');
    const { parentPort, workerData } = require('node:worker_threads');
    const latencies = [];
    const agent = new http.Agent({ keepAlive: true });
    function measure() {
      const start = performance.now();
      http.get({ port: workerData, host: '127.0.0.1', agent }, (response) => {
        response.resume().on('end', () => {
          latencies.push(performance.now() - start);
          measure();
        });
      });
    }
    measure();
    parentPort.on('message', () => parentPort.postMessage(latencies));`;
  const worker = new Worker(source, { eval: true, workerData: port });
  return {
    async stop() {
      worker.postMessage('stop');
      const latencies = await new Promise((resolve) => worker.once('message', resolve));
      await worker.terminate();
      return latencies.sort((a, b) => a - b);
    },
  };
}

async function measure(priority, port) {
  const client = startClient(port);
  await new Promise((resolve) => setTimeout(resolve, 200));
  let fired = 0;
  const interval = setInterval(() => (fired += 1), 1);
  const start = performance.now();
  const tasks = Array.from({ length: COUNT }, () =>
    scheduler.postTask(() => spin(TASK_US), { priority }),
  );
  await Promise.all(tasks);
  const took = performance.now() - start;
  clearInterval(interval);
  const latencies = await client.stop();
  const at = (share) => Number(latencies[Math.floor(latencies.length * share)].toFixed(2));
  return {
    priority,
    'all tasks, ms': Math.round(took),
    'interval fired': fired,
    'HTTP answers': latencies.length,
    'p50, ms': at(0.5),
    'p99, ms': at(0.99),
  };
}

async function runsNext() {
  let ranBefore = 0;
  const tasks = Array.from({ length: 10_000 }, (_, i) =>
    scheduler.postTask(
      () => {
        ranBefore += 1;
        if (i !== 5_000) return undefined;
        const before = ranBefore;
        const options = { priority: 'user-blocking' };
        return scheduler.postTask(() => ranBefore - before, options);
      },
      { priority: 'background' },
    ),
  );
  return (await Promise.all(tasks))[5_000];
}

async function main() {
  const server = http.createServer((_, response) => response.end('hello'));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  console.log(`Node ${process.version}: ${COUNT} tasks of ${TASK_US} µs`);
  const rows = [];
  for (const priority of PRIORITIES) rows.push(await measure(priority, server.address().port));
  console.table(rows);
  console.log(
    `background tasks between the posting of a user-blocking task and its run: ${await runsNext()}`,
  );
  server.closeAllConnections();
  server.close();
}

main();
