'use strict';

// Mistakes in lib/ and src/binding from an audit, or near ones. The tests are run by Jest.

const REENTRANT = 'test/locks/reentrant.conformance.test.js';
const DEADLOCK = 'test/deadlock/deadlock.conformance.test.js';
const DETECTOR = 'test/deadlock/detector.test.js';
const WAIT_GRAPH = 'test/deadlock/wait-graph.test.js';
const ORDER = 'test/locks/order.conformance.test.js';
const BINDING_RULES = 'test/house/architecture/binding.test.js';

/** @type {import('./planted-bugs.js').PlantedBug[]} */
const PACKAGE_BUGS = [
  {
    name: 'locks are released while exit listeners still run',
    file: 'lib/backends/shared-memory/backend.js',
    from: '    addThreadUser(this);\n  }\n',
    to: "    addThreadUser(this);\n    process.on('exit', () => this.close());\n  }\n",
    tests: ['test/lifetime/exit-order.process.test.js'],
  },
  {
    name: 'the addon is loaded in runtimes that end there',
    file: 'lib/binding.js',
    from: '  refuseOtherRuntimes(versions);\n',
    to: '',
    tests: ['test/package/binding.test.js'],
  },
  {
    name: 'a value crosses by a wrapper that ends the process',
    file: 'src/binding/js_values.cc',
    from: '  if (napi_get_value_string_utf8(env, value, nullptr, 0, &length) != napi_ok) return false;\n',
    to: '  length = Napi::String(env, value).Utf8Value().size();\n',
    tests: [BINDING_RULES],
  },
  {
    name: 'the status of a text that Node-API reads is not checked',
    file: 'src/binding/js_values.cc',
    from: '  if (napi_get_value_string_utf16(env, value, nullptr, 0, &length) != napi_ok) return false;\n',
    to: '  napi_get_value_string_utf16(env, value, nullptr, 0, &length);\n',
    tests: [BINDING_RULES],
  },
  {
    name: 'reentrant siblings do not exclude each other',
    file: 'lib/locks/nested-request.js',
    from: 'super(covering.openSection().nestedBackend, covering.name,',
    to: "super(new (require('../backends/local/backend.js').LocalBackend)(), covering.name,",
    tests: [REENTRANT],
  },
  {
    name: 'a lock is released before its reentrant requests have ended',
    file: 'lib/locks/nested-request.js',
    from: '    siblings.enterNested(this);\n',
    to: '',
    tests: [REENTRANT],
  },
  {
    name: 'an async context without a chain counts as outside of its lock',
    file: 'lib/locks/call-chain.js',
    from: '  return innermostHeld(chains === undefined ? running : (chains.getStore() ?? running));',
    to: '  return innermostHeld(chains === undefined ? running : chains.getStore());',
    tests: ['test/locks/first-contexts.test.js'], // before Node 24
  },
  {
    name: 'a release of a biased lock does not read which records are freed',
    file: 'lib/backends/shared-memory/biased-locks.js',
    from: '    if (this.#words[FREED_WORD] !== 0) this.#forgetFreed(); // the ids of freed ones are used again\n',
    to: '',
    tests: ['test/shared-memory/biased-locks.test.js'],
  },
  {
    name: 'a view is detached without a check that JavaScript may run',
    file: 'src/binding/agent_wrap.cc',
    from: '  if (view != nullptr) DetachBuffer(env_, view);\n  reference.Reset();',
    to: '  if (view != nullptr) (void)napi_detach_arraybuffer(env_, view);\n  reference.Reset();',
    tests: ['test/house/architecture/binding.test.js'],
  },
  {
    name: 'a request in an async context without a chain has no enclosing lock',
    file: 'lib/locks/call-chain.js',
    from: '  const inner = chains === undefined ? running : (chains.getStore() ?? running);',
    to: '  const inner = chains === undefined ? running : chains.getStore();',
    tests: ['test/locks/first-contexts.test.js'], // before Node 24
  },
  {
    name: 'a lock of requestSync() covers async work that its callback started',
    file: 'lib/locks/call-chain.js',
    from: '      (isSync || !held.isSync) &&\n',
    to: '',
    tests: [REENTRANT, 'test/locks/request-sync.conformance.test.js'],
  },
  {
    name: 'two lock managers of a bucket do not count as one table',
    file: 'lib/locks/call-chain.js',
    from: 'return a === b || (a.table !== undefined && a.table === b.table);',
    to: 'return a === b;',
    tests: ['test/locks/two-managers.test.js'],
  },
  {
    name: 'a process that has changed its user has a second broker',
    file: 'lib/backends/broker/backend.js',
    from: 'known.user === user ||',
    to: 'known.user !== user ||',
    tests: ['test/other-users/changed-user.process.test.js'], // as root
  },
  {
    name: 'a blocked thread waits for ever for a thread that was woken and has ended',
    file: 'lib/locks/async-lock.js',
    from: 'Atomics.wait(this.#word, 0, CONTENDED, SLICE_MS)',
    to: 'Atomics.wait(this.#word, 0, CONTENDED)',
    tests: ['test/mutex/async-lock.test.js'],
  },
  {
    name: 'an event loop waits for ever for the thread that was woken and has ended',
    file: 'lib/locks/async-lock.js',
    from: '      CONTENDED,\n      SLICE_MS,\n',
    to: '      CONTENDED,\n',
    tests: ['test/mutex/async-lock.test.js'],
  },
  {
    name: 'a request with ignore is in a cycle',
    file: 'lib/locks/call-chain.js',
    from: "  if (extras?.deadlock === 'ignore') return extras; // the enclosing lock does not wait for it\n",
    to: '',
    tests: [DEADLOCK],
  },
  {
    name: 'a callback that has ended encloses requests',
    file: 'lib/locks/lock-request.js',
    from: 'return this.isHolding && (this.#section === undefined || this.#section.isOpen);',
    to: 'return this.#phase === HOLDING || this.#phase === OVER;',
    tests: [DEADLOCK],
  },
  {
    name: 'a cycle is a deadlock at once',
    file: 'lib/locks/deadlock/detector.js',
    from: 'return first !== undefined && now - first >= DEADLOCK_MS;',
    to: 'return first !== undefined;',
    tests: [DEADLOCK, DETECTOR],
  },
  {
    name: 'a cycle is a deadlock at once for the tools',
    file: 'lib/locks/deadlock/wait-graph.js',
    from: 'waited >= DEADLOCK_MS;',
    to: 'waited >= 0;',
    tests: [WAIT_GRAPH],
  },
  {
    name: 'the victim of a deadlock is the oldest request',
    file: 'lib/locks/deadlock/wait-graph.js',
    from: 'return a.since < b.since ? b : a;',
    to: 'return a.since < b.since ? a : b;',
    tests: [DEADLOCK, WAIT_GRAPH],
  },
  {
    name: 'a request that was granted keeps the one in whose callback it was made',
    file: 'lib/locks/lock-request.js',
    from: '    this.#open = undefined; // the async context',
    to: '    // the async context',
    tests: ['test/locks/call-chain.test.js'], // before Node 24
  },
  {
    name: 'a request is taken for an earlier request with its number',
    file: 'lib/locks/deadlock/detector.js',
    from: 'return request !== undefined && this.#watched.has(request) ? request : undefined;',
    to: 'return request;',
    tests: [DETECTOR],
  },
  {
    name: 'a request is rejected for a cycle that has ended',
    file: 'lib/locks/deadlock/detector.js',
    from: '    if (cycle.some(hasEnded)) return;\n',
    to: '',
    tests: [DETECTOR],
  },
  {
    name: 'a request that is not stuck is never checked again',
    file: 'lib/locks/deadlock/detector.js',
    from: 'if (watched !== undefined) pause(watched, maxMs);',
    to: 'if (watched !== undefined) watched.at = Infinity + maxMs;',
    tests: [DETECTOR],
  },
  {
    name: 'a request that is not stuck for long delays the checks of others',
    file: 'lib/locks/deadlock/detector.js',
    from: '|| this.#timerAt <= at) return;',
    to: '|| this.#timer !== undefined) return;',
    tests: [DETECTOR],
  },
  {
    name: 'an agent whose check has failed makes no more',
    file: 'lib/locks/deadlock/detector.js',
    from: 'for (const watched of this.#watched.values()) if (watched.at <= start) pause(watched);',
    to: 'this.#watched.clear();',
    tests: [DETECTOR],
  },
  {
    name: 'a deadlock has many warnings',
    file: 'lib/locks/deadlock/detector.js',
    from: '    /** @type {Watched} */ (this.#watched.get(request)).isWarned = true;\n',
    to: '',
    tests: [DETECTOR],
  },
  {
    name: 'a page of an inspection shows entries as they are when it is made',
    file: 'lib/backends/local/lock-table.js',
    from: 'token: isHeld ? tokenOf(request) : null,',
    to: 'token: this.token,',
    tests: ['test/deadlock/wait-walk.test.js'],
  },
  {
    name: 'requestAll() settles before it has released its locks',
    file: 'lib/locks/request-all.js',
    from: '    await Promise.all(this.#ended);\n',
    to: '',
    tests: ['test/locks/request-all.conformance.test.js'],
  },
  {
    name: 'a then() that throws keeps the lock for ever',
    file: 'lib/locks/lock-request.js',
    from: '    request.abort(error);\n',
    to: '',
    tests: ['test/locks/replaced-then.test.js'],
  },
  {
    name: 'the rejection of a stolen lock is no instance of DOMException',
    file: 'lib/errors.js',
    from: '    Object.setPrototypeOf(this, DOMException.prototype);\n',
    to: '',
    tests: ['test/locks/misuse.test.js'],
  },
  {
    name: 'setTimeout is read from the global object at each call',
    file: 'lib/time.js',
    from: '  setInterval,\n  setTimeout,\n};',
    to: '  setInterval,\n  setTimeout: (...rest) => globalThis.setTimeout(...rest),\n};',
    tests: ['test/locks/time.test.js'],
  },
  {
    name: 'a signal aborts while the backend reports the loss',
    file: 'lib/locks/lock.js',
    from:
      '    queueMicrotask(() => {\n      if (this.#loss === undefined) this.#lossBefore = error;\n' +
      '      else this.#loss.abort(error);\n    });\n',
    to: '    this.#loss?.abort(error);\n',
    tests: ['test/locks/lock-signal.conformance.test.js'],
  },
  {
    name: 'a handle is collected although its signal is in use',
    file: 'lib/locks/lock-handle.js',
    from: '      if (this.#request.isHolding) keptHandles.set(this.#signal, this);\n',
    to: '',
    tests: ['test/locks/lock-handle.test.js'],
  },
  {
    name: 'a combined signal loses its timeouts',
    file: 'lib/composite-signals.js',
    from: 'living.filter(isTimeoutSignal)',
    to: '[]',
    tests: ['test/locks/composite-signals.test.js'],
  },
  {
    name: 'a copy of a record has its token',
    file: 'lib/locks/token.js',
    from: '    Object.assign(this, others);',
    to: '    Object.assign(this, others, { number: token });',
    tests: ['test/locks/serialise.conformance.test.js'],
  },
  {
    name: 'a task that aborts itself rejects twice',
    file: 'lib/scheduler/scheduler-task.js',
    from: '      if (this.state.abortSource?.aborted) this.#handleAbort(result);\n',
    to: '',
    tests: ['test/tasks/own-abort.test.js'],
  },
  {
    name: 'the priority of a signal is visible to one copy only',
    file: 'lib/scheduler/signal-priority.js',
    from: "Symbol.for('holdfast.signalPriority.1')",
    to: "Symbol('holdfast.signalPriority.1')",
    tests: ['test/tasks/two-copies.test.js'],
  },
  {
    name: 'a broker agent with a lock, a request, a watch or a call is collected',
    file: 'lib/backends/broker/backend.js',
    from: '    else outside().busy.add(this);\n',
    to: '',
    tests: ['test/lifetime/collected-agent.test.js'],
  },
  {
    name: 'a socket keeps the evaluation of the package that opened it',
    file: 'lib/backends/outside.js',
    from: 'const weak = new WeakRef(callback);',
    to: 'const weak = { deref: () => callback };',
    tests: ['test/lifetime/collected-agent.test.js'],
  },
  {
    name: 'a socket keeps the async context in which it was opened',
    file: 'lib/time.js',
    from: '(open) => contextAtLoad.runInAsyncScope(open)',
    to: '(open) => open()',
    tests: ['test/package/detect-leaks.process.test.js'],
  },
  {
    name: 'in shared memory a lock that is granted at once comes before older grants',
    file: 'lib/backends/shared-memory/backend.js',
    from: 'const isLate = outcome === GRANTED_BEHIND || this.#lateGrants.length > 0;',
    to: 'const isLate = this.#lateGrants.length > 0;',
    tests: [ORDER],
  },
  {
    name: 'a biased lock of the same turn comes before a late grant',
    file: 'lib/backends/shared-memory/backend.js',
    from: 'return this.#lateGrants.length === 0 && this.#biased.acquire(request)',
    to: 'return this.#biased.acquire(request)',
    tests: [ORDER],
  },
  {
    name: 'a blocking request that holds its lock is reported as late',
    file: 'lib/backends/shared-memory/backend.js',
    from: 'if (isBlocking || !isLate) return GRANTED;',
    to: 'if (!isLate) return GRANTED;',
    tests: ['test/copies/two-copies.process.test.js'],
  },
];

module.exports = { PACKAGE_BUGS };
