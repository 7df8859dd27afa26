'use strict';

const { oneClient, twoClients } = require('./combinations.js');
const { ConformanceHosts } = require('./conformance-hosts.js');
const { LockClient, unique } = require('./lock-client.js');

const hosts = new ConformanceHosts();
afterAll(() => hosts.close());

/**
 * The clients of one combination. Tests share the first two; a test that ends a client opens one
 * more.
 */
class Clients {
  #combination;
  #links = [];
  #bucket;

  constructor(combination) {
    this.#combination = combination;
  }

  /** Whether the second client has a separate thread or process. */
  get hasSecondHost() {
    return this.#combination.second !== 'same thread';
  }

  /** Whether all see one time of each event: etcd keeps none of an end. */
  get hasOneClock() {
    return this.#combination.backend !== 'etcd';
  }

  /** Whether a request whose priority changes moves from its position: in etcd it enters anew. */
  get movesFromItsPosition() {
    return this.#combination.backend !== 'etcd';
  }

  /** Whether grants of several names come in the order of the requests: not so in etcd. */
  get hasOrderOverNames() {
    return this.#combination.backend !== 'etcd';
  }

  /** Whether names may be longer than what a cluster takes in one transaction. */
  get hasLongNames() {
    return this.#combination.backend !== 'etcd';
  }

  async open() {
    const { backend, first } = this.#combination;
    this.#bucket = { backend, directory: hosts.directoryOf(backend), bucket: 'conformance' };
    this.first = await this.#openAt(first);
    this.second = await this.openSecond();
  }

  /** One more client, in the place of the second one. */
  openSecond(options = {}) {
    const { second } = this.#combination;
    return second === 'same thread'
      ? this.#openOn(this.#links[0], options)
      : this.#openAt(second, options);
  }

  #openAt(hostKind, options = {}) {
    const link = hosts.take(hostKind);
    this.#links.push(link);
    return this.#openOn(link, options);
  }

  async #openOn(link, options) {
    const client = new LockClient(link);
    await client.open({ ...this.#bucket, ...options });
    return client;
  }

  async close() {
    await Promise.all([this.first.close(), this.second.close()]);
    for (const link of this.#links) hosts.release(link);
    hosts.leave(this.#bucket.directory);
  }
}

function withClients(combination, define) {
  const clients = new Clients(combination);
  beforeAll(() => clients.open());
  afterAll(() => clients.close());
  afterEach(async () => {
    // Every test leaves the bucket as it found it. A query sees what its own client has ended.
    await clients.second.query();
    expect(await clients.first.query()).toEqual({ held: [], pending: [] });
  });
  define(clients);
}

/**
 * Tests about one client. `define` gets a function that makes a test of a self-contained body,
 * which runs inside the client: `test('…', run(async ({ locks, assert, name }) => { … }))`.
 */
function describeOneClient(topic, define) {
  describe.each(oneClient)(`${topic} [$backend, $first]`, (combination) => {
    withClients(combination, (clients) => define((body) => () => clients.first.run(body)));
  });
}

/**
 * Tests about two clients: `define` gets an object whose `first` and `second` are open when a test
 * runs.
 */
function describeTwoClients(topic, define) {
  describe.each(twoClients)(`${topic} [$backend, $first + $second]`, (combination) => {
    withClients(combination, define);
  });
}

module.exports = { describeOneClient, describeTwoClients, unique };
