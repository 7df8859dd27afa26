'use strict';

// The log of a stress test of the path of a lock table, and the checker that reads it.
//
// `enter` is written after a grant and `leaving` before its holder looks whether the table is still
// in its place; then `left`, or `notified` when the lock was lost. Each is one appending write: two
// sections that overlap in the file did overlap.

/**
 * @param {object} entry
 * @param {string} entry.who
 * @param {'enter' | 'leaving' | 'left' | 'notified'} entry.what
 * @param {number} entry.section
 */
const lineOf = ({ who, what, section }) => `${who} ${what} ${section}\n`;

/**
 * @param {string} log
 * @returns {{ sections: number, overlaps: number, violations: string[] }} an overlap is a pair that
 *   was inside at once, and a violation is an overlap without a notified process
 */
function checkLog(log) {
  const sections = new Map();
  for (const [at, line] of log.split('\n').slice(0, -1).entries()) {
    const [who, what, number] = line.split(' ');
    const name = `${who} ${number}`;
    if (what === 'enter') sections.set(name, { name, from: at, to: Infinity, end: undefined });
    else if (what === 'leaving') sections.get(name).to = at;
    else sections.get(name).end = what;
  }
  // A process that was killed inside cannot be notified.
  const ended = [...sections.values()].filter(({ end }) => end !== undefined);
  const violations = [];
  let overlaps = 0;
  ended.forEach((one, i) => {
    for (const other of ended.slice(i + 1)) {
      if (other.from > one.to) break; // in the order of their beginnings
      overlaps += 1;
      if (one.end === 'notified' || other.end === 'notified') continue;
      violations.push(`${one.name} beside ${other.name}`);
    }
  });
  return { sections: ended.length, overlaps, violations };
}

module.exports = { checkLog, lineOf };
