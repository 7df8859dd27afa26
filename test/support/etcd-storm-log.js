'use strict';

/**
 * @param {Map<string, string>} holders  by `pid:token`
 * @param {string} pid
 */
function forgetProcess(holders, pid) {
  for (const holder of holders.keys()) if (holder.startsWith(`${pid}:`)) holders.delete(holder);
}

/**
 * Reads what the processes of a storm have written down, and finds what must not be: it knows
 * nothing of holdfast. Lines: `enter name mode id token`, `leave …`, `told …` (its holder has heard
 * of the loss), `dead pid`.
 * @param {string} text
 * @returns {{ faults: string[], entered: number, told: number }}
 */
function checkStormLog(text) {
  const faults = [];
  const lastToken = new Map();
  const inside = new Map();
  let entered = 0;
  let told = 0;
  for (const line of text.split('\n').filter((it) => it !== '')) {
    const [what, name, mode, id, token] = line.split(' ');
    if (what === 'dead') {
      for (const holders of inside.values()) forgetProcess(holders, name);
      continue;
    }
    const holders = inside.get(name) ?? new Map();
    inside.set(name, holders);
    if (what !== 'enter') {
      if (what === 'told') told += 1;
      holders.delete(id);
      continue;
    }
    entered += 1;
    for (const [other, otherMode] of holders) {
      if (mode === 'shared' && otherMode === 'shared') continue;
      faults.push(`${line}: beside ${other} (${otherMode}), who was not told`);
    }
    const last = lastToken.get(name) ?? 0n;
    const isShared = mode === 'shared'; // shared holders may write in any order
    if (!isShared && BigInt(token) <= last) faults.push(`${line}: after the token ${last}`);
    if (BigInt(token) > last) lastToken.set(name, BigInt(token));
    holders.set(id, mode);
  }
  return { faults, entered, told };
}

module.exports = { checkStormLog };
