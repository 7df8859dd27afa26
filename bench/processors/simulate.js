'use strict';

const { randomOf } = require('../capacity/random.js');
const { Timeline } = require('../capacity/timeline.js');
const { Cpus } = require('./cpus.js');
const { Name, Party } = require('./party.js');
const { Word } = require('./word.js');

/**
 * All in ns.
 * @typedef {object} Costs
 * @property {number} cycleNs  a request, its callback and its release, on one processor
 * @property {number} shardNs  of them inside the shard, where nobody else is
 * @property {number} transferNs  a line from one processor to another
 * @property {number} addNs  an addition to a word that this processor has
 * @property {number} handOverNs  from a grant to the callback of another processor that looks
 * @property {number} lookNs  the longest look before a sleep
 * @property {number} ringNs  what waking somebody takes the waker
 * @property {number} wakeOtherCpuNs  from the ring to the thread, on an idle processor
 * @property {number} wakeSameCpuNs  from one thread to the next of a processor
 * @property {number} sliceNs  how long a thread runs beside others
 */

/**
 * @typedef {object} World
 * @property {Timeline} timeline
 * @property {Costs} costs
 * @property {() => number} random
 * @property {Cpus} cpus
 * @property {Word} token
 */

const SHARDS = 64;

/**
 * @param {object} question
 * @param {Costs} question.costs
 * @param {number} question.processors
 * @param {number} question.parties
 * @param {number} question.names  that the parties are divided between
 * @param {boolean} [question.tokenPerShard]  as it is not: a word of its own for each shard
 * @param {number} [question.shardsPerLine]  as it is not: so many shards share a line
 * @param {number} [question.ms]  simulated
 * @param {number} [question.seed]
 */
function simulate({
  costs,
  processors,
  parties: count,
  names: nameCount,
  tokenPerShard = false,
  shardsPerLine = 1,
  ms = 50,
  seed = 1,
}) {
  const timeline = new Timeline();
  const random = randomOf(seed);
  const cpus = new Cpus(timeline, processors, costs, random);
  const token = new Word(costs.transferNs, costs.addNs);
  const lines = Array.from(
    { length: SHARDS / shardsPerLine },
    () => new Word(costs.transferNs, costs.shardNs),
  );
  const names = Array.from({ length: Math.min(nameCount, count) }, () => {
    const shard = Math.floor(random() * SHARDS);
    return { name: new Name(lines[Math.floor(shard / shardsPerLine)]), shard };
  });
  const ownToken = Array.from({ length: SHARDS }, () => new Word(0, costs.addNs));
  const parties = Array.from({ length: count }, (_, index) => {
    const { name, shard } = names[index % names.length];
    const world = { timeline, costs, random, cpus, token: tokenPerShard ? ownToken[shard] : token };
    const party = new Party(world, name);
    if (name.holder === undefined) party.grant(party);
    else name.queue.push(party);
    return party;
  });
  for (const [index, party] of parties.entries()) {
    party.cpu = index % processors;
    party.state = 'runnable';
    timeline.after(random() * costs.cycleNs, () => cpus.wake(party, party.cpu));
  }
  const sum = (/** @type {'sections' | 'handOvers'} */ what) =>
    parties.reduce((total, party) => total + party[what], 0);
  timeline.run((ms * 1e6) / 4); // until it is in its stride
  const before = { sections: sum('sections'), handOvers: sum('handOvers') };
  timeline.run(ms * 1e6);
  const seconds = (ms * 0.75) / 1e3;
  return {
    sectionsPerSecond: (sum('sections') - before.sections) / seconds,
    handOversPerSecond: (sum('handOvers') - before.handOvers) / seconds,
    // For those who check the simulation itself.
    most: Math.max(...parties.map(({ sections }) => sections)),
    fewest: Math.min(...parties.map(({ sections }) => sections)),
    holders: parties.filter((party) => party.isGranted).length,
    names: names.length,
  };
}

module.exports = { simulate };
