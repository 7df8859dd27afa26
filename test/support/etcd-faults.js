'use strict';

const { sleep } = require('./etcd-cluster.js');
const { slowDiskOf } = require('./slow-disk.js');
const { cutOff, faultsOfClients } = require('./stress-faults.js');

/** Longer than an election takes. */
const ELECTION_MS = 4_000;
/** Longer than the leases of these stress tests live. */
const TOO_LONG_MS = 7_000;

/**
 * @typedef {object} EtcdEquipment
 * @property {import('./etcd-cluster.js').EtcdCluster} cluster
 * @property {(member: object) => import('./test-network.js').Machine} [machineOf]  of a member
 * @property {boolean} [hasUsers]
 * @property {boolean} [canSlowDisks]
 *
 * @typedef {Omit<import('./stress-faults.js').Equipment, 'tooLongMs'> & EtcdEquipment} Equipment
 */

/**
 * The faults of a cluster and of its clients, of which several may happen at a time: each resolves
 * when it is over, although a member may still have to start. Two of them never happen to the same
 * member.
 */
class EtcdFaults {
  #with;
  /** Members to which something happens. */
  #busy = new Set();
  #roles = 0;

  /** @param {Equipment} equipment */
  constructor(equipment) {
    this.#with = equipment;
  }

  /** Those that this equipment allows. @returns {import('./stress-faults.js').Faults} */
  get all() {
    const { cluster, machineOf, hasUsers, canSlowDisks } = this.#with;
    return {
      ...faultsOfClients({ ...this.#with, tooLongMs: TOO_LONG_MS }),
      'the leader is killed': () => this.#toLeader((it) => this.#killMember(it)),
      'a member is stopped': () => this.#toMember((it) => this.#stopMember(it)),
      'a member is replaced': () => this.#toMember((it) => cluster.replace(it)),
      'all leases are revoked': () => cluster.endSessions(),
      'revisions are compacted away': () => this.#compact(),
      ...(machineOf && {
        'the leader is cut off': () => this.#toLeader((it) => cutOff(machineOf(it), ELECTION_MS)),
      }),
      ...(hasUsers && { 'tokens become invalid': () => this.#endTokens() }),
      ...(canSlowDisks && { 'the disk of the leader is slow': () => this.#slowDisk() }),
    };
  }

  /** Whether the cluster may end leases that it has confirmed. @param {string} name */
  static endsLeases(name) {
    return ['all leases are revoked', 'the disk of the leader is slow'].includes(name);
  }

  /** @param {(member: object) => Promise<void>} harm  to the leader, or to another one */
  async #toLeader(harm) {
    const leader = await this.#with.cluster.leader();
    return this.#toMember(harm, leader);
  }

  /** @param {(member: object) => Promise<void>} harm @param {object} [wanted] */
  async #toMember(harm, wanted) {
    const { cluster, random } = this.#with;
    const free = cluster.members.filter((it) => !this.#busy.has(it));
    const member = free.includes(wanted) ? wanted : free[random(free.length)];
    this.#busy.add(member);
    try {
      await harm(member);
    } finally {
      this.#busy.delete(member);
    }
  }

  async #killMember(member) {
    await member.kill();
    await sleep(2_000);
    member.start(this.#with.cluster.members, 'existing');
  }

  async #stopMember(member) {
    member.signal('SIGSTOP');
    await sleep(3_000);
    member.signal('SIGCONT');
  }

  async #compact() {
    const { cluster } = this.#with;
    // Before it is carried out, another fault may have taken the revision away.
    await cluster.control('compact', String(await cluster.revision())).catch(() => {});
  }

  /** Ends all tokens; a change of rights alone ends only the tokens of calls just under way. */
  async #endTokens() {
    const { cluster } = this.#with;
    for (let i = 0; i < 3; i += 1) {
      this.#roles += 1;
      await cluster.insist('role', 'add', `role ${this.#roles}`);
      await cluster.endTokens();
    }
  }

  async #slowDisk() {
    await this.#toLeader(async (member) => {
      const { end } = await slowDiskOf(member);
      await sleep(ELECTION_MS);
      await end();
    });
  }
}

module.exports = { EtcdFaults };
