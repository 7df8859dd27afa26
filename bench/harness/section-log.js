'use strict';

// The log of each party of a contest for one lock: when it asked, entered and left. The times are
// by the one monotonic clock that all threads and processes of a machine share.

const { quantile } = require('./statistics.js');

const FIELDS = 3;

const now = () => Number(process.hrtime.bigint());

/** The sections of one party. */
class SectionLog {
  #words;
  #count = 0;

  /** @param {number} most the sections that it has room for */
  constructor(most) {
    this.#words = new Float64Array(most * FIELDS);
  }

  get isFull() {
    return this.#count * FIELDS === this.#words.length;
  }

  /**
   * @param {number} requested
   * @param {number} entered
   */
  add(requested, entered) {
    const at = this.#count * FIELDS;
    this.#words[at] = requested;
    this.#words[at + 1] = entered;
    this.#words[at + 2] = now();
    this.#count += 1;
  }

  /** Of all sections: asked, entered, left in turns. */
  get words() {
    return this.#words.slice(0, this.#count * FIELDS);
  }
}

/**
 * All sections while every party took part, in the order in which they were entered.
 * @param {Float64Array[]} logs one for each party
 */
function merge(logs) {
  const from = Math.max(...logs.map((words) => words[1]));
  const until = Math.min(...logs.map((words) => words[words.length - 1]));
  const sections = logs.flatMap((words, party) => {
    const own = [];
    for (let at = 0; at < words.length; at += FIELDS) {
      const [requested, entered, left] = [words[at], words[at + 1], words[at + 2]];
      if (entered >= from && left <= until) own.push({ party, requested, entered, left });
    }
    return own;
  });
  return sections.sort((a, b) => a.entered - b.entered);
}

/**
 * A hand-over: the lock goes from one party to another one.
 * @param {Float64Array[]} logs one for each party
 * @returns {import('./scenarios.js').Figures}
 */
function figuresOf(logs) {
  const sections = merge(logs);
  const gaps = [];
  const waits = [];
  let overlaps = 0;
  let end = -Infinity;
  for (let i = 1; i < sections.length; i += 1) {
    const [before, section] = [sections[i - 1], sections[i]];
    waits.push(section.entered - section.requested);
    end = Math.max(end, before.left);
    if (section.entered < end) overlaps += 1;
    if (section.party !== before.party) gaps.push(section.entered - before.left);
  }
  const duration = sections.length > 1 ? sections.at(-1).left - sections[0].entered : NaN;
  return {
    'hand-overs/s': (gaps.length / duration) * 1e9,
    'p50 µs': quantile(gaps, 0.5) / 1e3,
    'p99 µs': quantile(gaps, 0.99) / 1e3,
    'longest wait ms': waits.reduce((most, wait) => Math.max(most, wait), 0) / 1e6,
    'sections/s': (sections.length / duration) * 1e9,
    overlaps,
  };
}

/**
 * All names together. A name that one party wants is taken again and again, and not handed over.
 * @param {Float64Array[]} logs one for each party
 * @param {number} names that the parties take in turn
 * @returns {import('./scenarios.js').Figures}
 */
function figuresOfNames(logs, names) {
  const groups = Array.from({ length: Math.min(names, logs.length) }, (_, name) =>
    figuresOf(logs.filter((__, party) => party % names === name)),
  );
  const sum = (/** @type {string} */ figure) =>
    groups.reduce((total, figures) => total + figures[figure], 0);
  return {
    'sections/s': sum('sections/s'),
    'hand-overs/s': sum('hand-overs/s'),
    'longest wait ms': Math.max(...groups.map((figures) => figures['longest wait ms'])),
    overlaps: sum('overlaps'),
  };
}

module.exports = { FIELDS, SectionLog, figuresOf, figuresOfNames, now };
