'use strict';

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');

// Processes of different runtimes share the locks of one broker, whichever of them has started it.
// HOLDFAST_RUNTIMES says how a program is run on each: `npm test -- runtimes`.
const RUNTIMES = JSON.parse(process.env.HOLDFAST_RUNTIMES);
const NAMES = Object.keys(RUNTIMES);
const PROGRAM = path.join(__dirname, 'actor-program.js');
const TIMES = 50;

/** @type {string} */
let directory;
/** @type {Actor[]} */
let actors;
beforeEach(() => {
  directory = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  actors = [];
});
afterEach(async () => {
  await Promise.all(actors.map((actor) => actor.kill()));
  fs.rmSync(directory, { recursive: true, force: true });
});

class Actor {
  #child;
  #lines = [];
  #onLine = () => {};
  #ended;

  constructor(runtime) {
    const { command, args } = RUNTIMES[runtime];
    const env = { ...process.env, HOLDFAST_URL: 'broker:', HOLDFAST_DIR: directory };
    this.#child = spawn(command, [...args, PROGRAM], { env, stdio: ['pipe', 'pipe', 'inherit'] });
    this.#ended = new Promise((resolve) => this.#child.on('close', resolve));
    let text = '';
    this.#child.stdout.setEncoding('utf8').on('data', (piece) => {
      const lines = (text + piece).split('\n');
      text = lines.pop();
      this.#lines.push(...lines);
      this.#onLine();
    });
  }

  say(line) {
    this.#child.stdin.write(`${line}\n`);
  }

  /** Resolves when it has printed this line. */
  async received(line) {
    while (!this.#lines.includes(line)) await new Promise((resolve) => (this.#onLine = resolve));
  }

  /** Waits for its turn among others that ask later. */
  async requests(name) {
    this.say(`hold ${name}`);
    await this.received(`asked ${name}`);
  }

  kill() {
    this.#child.kill('SIGKILL');
    return this.#ended;
  }
}

function start(runtime) {
  const actor = new Actor(runtime);
  actors.push(actor);
  return actor;
}

/** All runtimes; the first one starts the broker. */
const orders = NAMES.map((name, i) => [name, [...NAMES.slice(i), ...NAMES.slice(0, i)]]);

describe.each(orders)('with a broker of %s', (_first, names) => {
  test('processes of all runtimes exclude each other', async () => {
    const file = path.join(directory, 'count');
    fs.writeFileSync(file, '0');
    for (const name of names) {
      const actor = start(name);
      await actor.requests('mine');
      actor.say('release mine');
    }
    for (const actor of actors) actor.say(`count ${file} ${TIMES}`);
    await Promise.all(actors.map((actor) => actor.received('counted')));
    expect(fs.readFileSync(file, 'utf8')).toBe(String(TIMES * names.length));
  });

  test('locks are granted in the order of the requests, and when their holder is killed', async () => {
    const [holder, ...waiting] = [...names, ...names].map(start);
    for (const actor of actors) await actor.requests('a');
    await holder.received('holds a');
    let last = holder;
    for (const [i, actor] of waiting.entries()) {
      if (i % 2 === 0) await last.kill();
      else last.say('release a');
      await actor.received('holds a');
      last = actor;
    }
  });
});
