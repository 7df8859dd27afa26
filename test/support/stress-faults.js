'use strict';

const { setTimeout: sleep } = require('node:timers/promises');
const { JUMPS } = require('./false-clock.js');

/**
 * @typedef {object} Equipment
 * @property {import('./stress.js').StressTest} stress
 * @property {(below: number) => number} random
 * @property {number} tooLongMs  longer than a session lives that is cut off
 * @property {import('./tcp-gate.js').ClusterGate} [gate]  between the processes and the cluster
 * @property {import('./test-network.js').Machine[]} [clients]  machines of processes
 * @property {import('./false-clock.js').FalseClock} [clock]  of the processes
 */

/** @typedef {Record<string, () => Promise<void>>} Faults  each resolves when it is over */

/**
 * The faults of processes and of their network, which are the same with each engine: those that
 * the equipment allows.
 * @param {Equipment} equipment
 * @returns {Faults}
 */
function faultsOfClients({ stress, random, tooLongMs, gate, clients, clock }) {
  const pick = (/** @type {any[]} */ list) => list[random(list.length)];
  return {
    'a process is killed': () => stress.killOne(random(stress.running.length)),
    'a process is stopped': () => stress.pauseOne(pick(stress.running), tooLongMs),
    ...(gate && {
      'connections are reset': async () => {
        for (let i = 0; i < 5; i += 1) {
          gate.reset();
          await sleep(200);
        }
      },
      'nothing arrives': async () => {
        gate.shut();
        await sleep(random(tooLongMs));
        gate.unshut();
      },
    }),
    ...(clients && {
      'a machine of clients is cut off': () => cutOff(pick(clients), tooLongMs),
    }),
    ...(clock && {
      'the clocks are set': async () => {
        for (let i = 0; i < 3; i += 1) await clock.set(pick(Object.keys(JUMPS)));
      },
    }),
  };
}

/** @param {import('./test-network.js').Machine} machine @param {number} ms */
async function cutOff(machine, ms) {
  machine.unplug();
  await sleep(ms);
  machine.plugIn();
}

/** A small generator of numbers, from a seed. @param {number} seed */
function generator(seed) {
  let state = seed;
  return (/** @type {number} */ below) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return (state >>> 8) % below;
  };
}

/** Draws without putting back, until none is left; then from all again. */
class Deck {
  #cards;
  #random;
  #left = [];

  /** @param {string[]} cards @param {(below: number) => number} random */
  constructor(cards, random) {
    this.#cards = cards;
    this.#random = random;
  }

  /** @param {string} [other]  not this one */
  draw(other) {
    if (this.#left.length === 0) this.#left = [...this.#cards];
    const at = this.#random(this.#left.length);
    const [card] = this.#left.splice(at, 1);
    return card === other ? this.draw(other) : card;
  }
}

/**
 * Two faults at a time, drawn by lot from the seed of the stress test, which is judged then.
 * @param {import('./stress.js').StressTest} stress
 * @param {Faults} faults
 * @param {object} options
 * @param {string | undefined} options.rounds  how many pairs; else each fault happens at least once
 * @param {(name: string) => boolean} options.endsSessions  which the cluster has confirmed
 * @param {() => Promise<void>} options.untilHealthy
 */
async function drawFaults(stress, faults, { rounds, endsSessions, untilHealthy }) {
  const names = Object.keys(faults);
  const deck = new Deck(names, generator(stress.seed));
  const drawn = new Set();
  await stress.untilAllProgress();
  for (let round = 0; round < Number(rounds ?? Math.ceil(names.length / 2)); round += 1) {
    const one = deck.draw();
    const pair = [one, deck.draw(one)];
    console.log(pair.join(', and '));
    for (const name of pair) drawn.add(name);
    const harm = async () => {
      await Promise.all(pair.map((name) => faults[name]()));
      await untilHealthy();
    };
    await (pair.some(endsSessions) ? stress.excuseAllIn(harm) : harm());
    await stress.untilAllProgress();
  }
  return { drawn, ends: await stress.finish() };
}

module.exports = { cutOff, drawFaults, faultsOfClients, generator };
