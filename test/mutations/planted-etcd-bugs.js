'use strict';

// Mistakes in the rules of locks in etcd, and in the hand-off between its sessions. The tests need
// no cluster.

const tests = ['test/etcd/name-lock.test.js'];
const file = 'lib/backends/etcd/name-lock.js';

/** @type {import('./planted-bugs.js').PlantedBug[]} */
const ETCD_BUGS = [
  {
    name: 'a grant names the requests that follow, without the first of them',
    file,
    from: 'const known = this.#heads.slice(at + 1);',
    to: 'const known = this.#heads.slice(at + 2);',
    tests,
  },
  {
    name: 'a request that entered with a hand-off passes an older one',
    file,
    from: '[areNoneBefore(this.#keys.listOf(priority), created), ...above.map(isEmpty)]',
    to: 'above.map(isEmpty)',
    tests,
  },
  {
    name: 'a request that entered with a hand-off passes a later one with a higher priority',
    file,
    from: '[areNoneBefore(this.#keys.listOf(priority), created), ...above.map(isEmpty)]',
    to: '[areNoneBefore(this.#keys.listOf(priority), created)]',
    tests,
  },
  {
    name: 'a refused hand-off fails the request that entered with it',
    file,
    from: 'if (ending === undefined || !(error instanceof EtcdError)) throw error;',
    to: 'if (ending !== undefined || !(error instanceof EtcdError)) throw error;',
    tests,
  },
  {
    name: 'a release that is no hand-off is lost after a request',
    file,
    from: '    if (!isReleased) await this.#endAll(ends);\n',
    to: '',
    tests,
  },
  {
    name: 'a lock is released when another request ends',
    file,
    from: 'const isRelease = ends.length === 1 && ends[0].request === holder',
    to: 'const isRelease = ends.length === 1 && holder !== undefined',
    tests,
  },
  {
    name: 'over etcd a lock that is granted at once comes before older grants',
    file,
    from: '    await this.#readStates([this.#waiting[request.priority]]);\n',
    to: '',
    tests,
  },
  {
    name: 'over etcd a lock that has passed its hold limit was stolen by the next one',
    file,
    from: 'const isLeaving = request.isEnding || request.isExpiring;',
    to: 'const isLeaving = request.isEnding;',
    tests,
  },
  {
    name: 'over etcd a steal never becomes the first of the queue',
    file,
    from: 'if (refusals === MAX_REFUSALS)',
    to: 'if (refusals < 0)',
    tests,
  },
  {
    name: 'over etcd a waiting request without keys is granted before it is lost',
    file,
    from: 'if (found === undefined) return this.#lose(request);',
    to: 'if (found === undefined) return this.#hold(request, request.created), this.#lose(request);',
    tests,
  },
  {
    name: 'over etcd a read of a session that has ended counts',
    file: 'lib/backends/etcd/session.js',
    from: '    this.#guard.read(keyValuesOf(responses.pop()), guard);\n',
    to: '    responses.pop();\n',
    tests: ['test/etcd/session.test.js'],
  },
];

module.exports = { ETCD_BUGS };
