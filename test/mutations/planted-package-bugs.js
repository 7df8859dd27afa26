'use strict';

// Mistakes in lib/ and src/binding that an audit found, or near ones. The tests are those of Jest.

const REENTRANT = 'test/conformance/extensions/reentrant.test.js';
const POSSIBLE = 'test/js/locks/possible-deadlock.test.js';
const BINDING_RULES = 'test/js/architecture/binding.test.js';

/** @type {import('./planted-bugs.js').PlantedBug[]} */
const PACKAGE_BUGS = [
  {
    name: 'locks are released while exit listeners still run',
    file: 'lib/backends/shared-memory/backend.js',
    from: '    this.#agent = this.#open();\n  }\n',
    to: "    this.#agent = this.#open();\n    process.on('exit', () => this.close());\n  }\n",
    tests: ['test/process/exit-order.test.js'],
  },
  {
    name: 'the addon is loaded in runtimes that end there',
    file: 'lib/binding.js',
    from: '  refuseOtherRuntimes(versions);\n',
    to: '',
    tests: ['test/js/binding.test.js'],
  },
  {
    name: 'a value crosses by a wrapper that ends the process',
    file: 'src/binding/js_values.cc',
    from: '  if (napi_get_value_string_utf8(env, value, nullptr, 0, &length) != napi_ok) return false;\n',
    to: '  length = Napi::String(env, value).Utf8Value().size();\n',
    tests: [BINDING_RULES],
  },
  {
    name: 'nobody reads whether Node-API could read a text',
    file: 'src/binding/js_values.cc',
    from: '  if (napi_get_value_string_utf16(env, value, nullptr, 0, &length) != napi_ok) return false;\n',
    to: '  napi_get_value_string_utf16(env, value, nullptr, 0, &length);\n',
    tests: [BINDING_RULES],
  },
  {
    name: 'reentrant siblings exclude nobody among themselves',
    file: 'lib/locks/nested-request.js',
    from: 'super(covering.openSection().nestedBackend, covering.name,',
    to: "super(new (require('../backends/local/backend.js').LocalBackend)(), covering.name,",
    tests: [REENTRANT],
  },
  {
    name: 'a lock is given back before its reentrant requests',
    file: 'lib/locks/nested-request.js',
    from: '    siblings.enterNested(this);\n    const leave = () => siblings.leaveNested(this);\n',
    to: '    const leave = () => {};\n',
    tests: [REENTRANT],
  },
  {
    name: 'what has no context yet counts as outside of its lock',
    file: 'lib/locks/call-chain.js',
    from: '  return innermostHeld(chains === undefined ? running : (chains.getStore() ?? running));',
    to: '  return innermostHeld(chains === undefined ? running : chains.getStore());',
    tests: ['test/js/locks/first-contexts.test.js'], // before Node 24
  },
  {
    name: 'a release by the short way does not look which records are freed',
    file: 'lib/backends/shared-memory/kept-names.js',
    from: '    if (this.#words[FREED_WORD] !== 0) this.#dropFreed(); // the ids of freed ones are used again\n',
    to: '',
    tests: ['test/js/backends/shared-memory/kept-names.test.js'],
  },
  {
    name: 'a view is detached without a look whether JavaScript runs',
    file: 'src/binding/kept_calls.cc',
    from: '  if (view != nullptr) DetachBuffer(env_, view);\n  reference.Reset();',
    to: '  if (view != nullptr) (void)napi_detach_arraybuffer(env_, view);\n  reference.Reset();',
    tests: ['test/js/architecture/binding.test.js'],
  },
  {
    name: 'what has no context yet is enclosed by nothing',
    file: 'lib/locks/call-chain.js',
    from: '  const inner = chains === undefined ? running : (chains.getStore() ?? running);',
    to: '  const inner = chains === undefined ? running : chains.getStore();',
    tests: ['test/js/locks/first-contexts.test.js'], // before Node 24
  },
  {
    name: 'a lock of requestSync() covers what goes on after it',
    file: 'lib/locks/call-chain.js',
    from: '      (isSync || !held.isSync) &&\n',
    to: '',
    tests: [REENTRANT, 'test/conformance/extensions/request-sync.test.js'],
  },
  {
    name: 'two lock managers of a bucket do not know of each other',
    file: 'lib/locks/call-chain.js',
    from: 'return a === b || (a.table !== undefined && a.table === b.table);',
    to: 'return a === b;',
    tests: ['test/js/locks/two-managers.test.js'],
  },
  {
    name: 'a process that has changed its user has a second broker',
    file: 'lib/backends/broker/open-places.js',
    from: 'known.user === user ||',
    to: 'known.user !== user ||',
    tests: ['test/process/changed-user.test.js'], // as root
  },
  {
    name: 'a blocked thread waits for ever for the one that was woken and has ended',
    file: 'lib/locks/async-lock.js',
    from: 'Atomics.wait(this.#word, 0, CONTENDED, SLICE_MS)',
    to: 'Atomics.wait(this.#word, 0, CONTENDED)',
    tests: ['test/js/locks/async-lock.test.js'],
  },
  {
    name: 'an event loop waits for ever for the thread that was woken and has ended',
    file: 'lib/locks/async-lock.js',
    from: '      CONTENDED,\n      SLICE_MS,\n',
    to: '      CONTENDED,\n',
    tests: ['test/js/locks/async-lock.test.js'],
  },
  {
    name: "the last one's 'ignore' silences a 'reject'",
    file: 'lib/locks/deadlock/knot.js',
    from: '  return actors;',
    to: "  const last = knot.reduce(later, undefined);\n  if (last?.deadlock === 'ignore') return { rejected: undefined, warning: undefined };\n  return actors;",
    tests: ['test/conformance/extensions/deadlock.test.js'],
  },
  {
    name: 'a request that nobody awaits is in a deadlock',
    file: 'lib/locks/deadlock/own-requests.js',
    from: 'request.awaitState >= least && ',
    to: '',
    tests: ['test/conformance/extensions/deadlock.test.js'],
  },
  {
    name: 'a request is taken for another one that had its number before',
    file: 'lib/locks/deadlock/own-requests.js',
    from: 'known === undefined ? request : null',
    to: 'request',
    tests: ['test/js/locks/deadlock/detector.test.js'],
  },
  {
    name: 'who has ended while the cycle was looked for is rejected all the same',
    file: 'lib/locks/deadlock/detector.js',
    from: '    if (own.hasOneEnded(cycle)) return; // meanwhile\n',
    to: '',
    tests: ['test/js/locks/deadlock/detector.test.js'],
  },
  {
    name: 'who can go on is never looked at again',
    file: 'lib/locks/deadlock/detector.js',
    from: 'else pause(watched, MAX_REST_MS);',
    to: 'else watched.at = Infinity;',
    tests: ['test/js/locks/deadlock/rested-requests.test.js'],
  },
  {
    name: 'who can go on for long holds up the look at others',
    file: 'lib/locks/deadlock/detector.js',
    from: '|| this.#timerAt <= at) return;',
    to: '|| this.#timer !== undefined) return;',
    tests: ['test/js/locks/deadlock/rested-requests.test.js'],
  },
  {
    name: 'an agent whose look has failed looks no more',
    file: 'lib/locks/deadlock/detector.js',
    from: 'for (const watched of this.#watched.values()) if (watched.at <= start) pause(watched);',
    to: 'this.#watched.clear();',
    tests: ['test/js/locks/deadlock/detector.test.js'],
  },
  {
    name: 'a handle that nobody awaits is in a deadlock',
    file: 'lib/locks/lock-handle.js',
    from: '  return startTracked(request);',
    to: '  return request.start();',
    tests: ['test/js/locks/deadlock/started-only.test.js'],
  },
  {
    name: 'the look for deadlocks takes what has changed for what was there',
    file: 'lib/backends/local/wait-walk.js',
    from: 'if (isStillSo(entry)) details',
    to: 'details',
    tests: ['test/js/backends/local/wait-walk.test.js'],
  },
  {
    name: 'a possible deadlock is told of at once',
    file: 'lib/locks/deadlock/detector.js',
    from: '!watched.isWarned && now - watched.possibleSince >= POSSIBLE_MS',
    to: '!watched.isWarned',
    tests: [POSSIBLE],
  },
  {
    name: 'a circle that changes is a possible deadlock',
    file: 'lib/locks/deadlock/detector.js',
    from: 'if (watched.possible !== shape) Object',
    to: "if (watched.possible === '') Object",
    tests: [POSSIBLE],
  },
  {
    name: 'a deadlock is told of again and again',
    file: 'lib/locks/deadlock/detector.js',
    from: '      watched.isWarned = true;\n      warn(',
    to: '      warn(',
    tests: [
      'test/conformance/extensions/deadlock.test.js',
      'test/js/locks/deadlock/detector.test.js',
    ],
  },
  {
    name: 'requestAll() settles before it has given back what it took',
    file: 'lib/locks/request-all.js',
    from: '    await Promise.all(this.#ended);\n',
    to: '',
    tests: ['test/conformance/extensions/request-all.test.js'],
  },
  {
    name: 'a then() that throws keeps the lock for ever',
    file: 'lib/locks/run-after.js',
    from: '    request.abort(error);\n',
    to: '',
    tests: ['test/js/locks/run-after.test.js'],
  },
  {
    name: 'the rejection of a stolen lock has a constructor of its own',
    file: 'lib/errors.js',
    from: '    Object.setPrototypeOf(this, DOMException.prototype);\n',
    to: '',
    tests: ['test/js/locks/misuse.test.js'],
  },
  {
    name: 'timers are those that a test has put in their place',
    file: 'lib/time.js',
    from: '!isNode || areTimersReal(taken) ? taken',
    to: 'isNode || areTimersReal(taken) ? taken',
    tests: ['test/js/time.test.js'],
  },
  {
    name: 'a signal aborts while the backend tells of the loss',
    file: 'lib/locks/loss-signal.js',
    from: 'queueMicrotask(() => controller.abort(error));',
    to: 'controller.abort(error);',
    tests: ['test/conformance/extensions/lock-signal.test.js'],
  },
];

module.exports = { PACKAGE_BUGS };
