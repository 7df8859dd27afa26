'use strict';

const { once } = require('node:events');
const { connect, createServer } = require('node:net');
const { promisify } = require('node:util');
const { loadServices } = require('../../lib/backends/etcd/grpc-library.js');

const LOOPBACK = '127.0.0.1';
/** gRPC's status codes. */
const INVALID_ARGUMENT = 3;
const PERMISSION_DENIED = 7;
const RESOURCE_EXHAUSTED = 8;
const FAILED_PRECONDITION = 9;
/** A connection of HTTP/2 begins so; other ones ask for pages. */
const HTTP2 = 'PRI ';

const refusal = (code, text) => ({ code, details: `etcdserver: ${text}` });
const LEARNER = refusal(FAILED_PRECONDITION, 'rpc not supported for learner');
const NOT_CAPABLE = refusal(FAILED_PRECONDITION, 'not capable');
const NO_SPACE = refusal(RESOURCE_EXHAUSTED, 'mvcc: database space exceeded');

/** Whether there is a write in it, at any depth. */
const writes = ({ success = [], failure = [] }) =>
  [...success, ...failure].some(
    ({ request: kind, request_txn: inner }) =>
      kind === 'request_put' || (kind === 'request_txn' && writes(inner)),
  );

const END_OF_PREFIX = /.$/;
/** Whether a range is among the keys that begin with the prefix, which ends with a slash. */
function isBelow(prefix, { key, range_end: end }) {
  const [first, last] = [key, end].map((bytes) => bytes.toString('latin1'));
  return first.startsWith(prefix) && (last <= prefix.replace(END_OF_PREFIX, '0') || last === '');
}

/** The ranges of a transaction, at any depth. */
const rangesOf = ({ compare = [], success = [], failure = [] }) => [
  ...compare,
  ...[...success, ...failure].flatMap(({ request, ...it }) =>
    request === 'request_txn' ? rangesOf(it.request_txn) : [{ range_end: '', ...it[request] }],
  ),
];

const unchanged = (bytes) => bytes;

/** The same methods, for messages as they are on the wire: to read and to write changes them. */
function unread(methods) {
  const pass = {
    ...{ requestSerialize: unchanged, requestDeserialize: unchanged },
    ...{ responseSerialize: unchanged, responseDeserialize: unchanged },
  };
  return Object.fromEntries(
    Object.entries(methods).map(([name, it]) => [name, { ...it, ...pass }]),
  );
}

/**
 * Stands before a member of any etcd, and answers as 3.6 and 3.7 do where they differ from older
 * versions (api/v3rpc/rpctypes/error.go, server/etcdserver/api/v3rpc/ and server/storage/quota.go
 * of github.com/etcd-io/etcd): the users who may ask for the status, the answers of a member that
 * serves no client yet, the changes that count when there is no room, that rights hold inside of
 * transactions, too, and the requests for progress that have no answer.
 */
class NewerEtcd {
  /** With users: who may ask for the status. @type {'everybody' | 'users' | 'root'} */
  showsStatusTo = 'everybody';
  isLearner = false;
  isStarting = false;
  isFull = false;
  /** Changes are carried out, and still refused for want of room. */
  isFilling = false;
  /** The prefix of all allowed keys, also inside of transactions. @type {string | undefined} */
  prefix;
  /** Whether its pages are on this port. */
  hasPages = true;
  refusals = 0;
  #library = loadServices();
  #clients = {};
  #grpc;
  #grpcPort;
  #target;
  #front;
  #sockets = new Set();

  /** @param {string} endpoint  of the member */
  static async open(endpoint) {
    const it = new NewerEtcd();
    await it.#open(endpoint);
    return it;
  }

  async #open(endpoint) {
    const [host, port] = endpoint.split(':');
    this.#target = { host, port: Number(port) };
    const { grpc, services } = this.#library;
    this.#grpc = new grpc.Server();
    for (const [name, Service] of Object.entries(services)) {
      if (Service.service === undefined) continue; // a message
      const methods = unread(Service.service);
      const Client = grpc.makeClientConstructor(methods, name);
      this.#clients[name] = new Client(endpoint, grpc.credentials.createInsecure());
      this.#grpc.addService(methods, this.#handlersOf(name, methods));
    }
    const credentials = grpc.ServerCredentials.createInsecure();
    const bind = promisify(this.#grpc.bindAsync.bind(this.#grpc));
    this.#grpcPort = await bind(`${LOOPBACK}:0`, credentials);
    this.#front = createServer((socket) => this.#accept(socket));
    await once(this.#front.listen(0, LOOPBACK), 'listening');
  }

  get endpoint() {
    return `${LOOPBACK}:${this.#front.address().port}`;
  }

  url(prefix, query = '') {
    return `etcd://${this.endpoint}/${prefix}${query}`;
  }

  async close() {
    this.#front.close();
    for (const socket of this.#sockets) socket.destroy();
    this.#grpc.forceShutdown();
    for (const client of Object.values(this.#clients)) client.close();
    await once(this.#front, 'close');
  }

  /** gRPC goes to the handlers below, what asks for pages to the member. */
  async #accept(socket) {
    const [start] = await once(socket, 'data');
    socket.pause();
    const isGrpc = start.toString('latin1').startsWith(HTTP2);
    if (!isGrpc && !this.hasPages) {
      socket.destroy();
      return;
    }
    const inner = connect(isGrpc ? { host: LOOPBACK, port: this.#grpcPort } : this.#target);
    inner.write(start);
    for (const [from, to] of [
      [socket, inner],
      [inner, socket],
    ]) {
      this.#sockets.add(from);
      from.setNoDelay(true);
      from.on('error', () => {});
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  }

  #handlersOf(name, definition) {
    const methods = Object.entries(definition);
    return Object.fromEntries(
      methods.map(([method, { requestStream }]) => [
        method,
        requestStream
          ? (call) => this.#passStream(name, method, call)
          : (call, answer) => this.#passCall(name, method, call, answer),
      ]),
    );
  }

  #passCall(name, method, call, answer) {
    const why = this.#refusalOf(method, call);
    if (why !== undefined) {
      this.refusals += 1;
      return answer(why);
    }
    const options = { deadline: call.getDeadline() };
    const report =
      this.isFilling && method === 'Txn' && writes(this.#toChange(call.request))
        ? (error) => answer(error ?? NO_SPACE)
        : answer;
    return this.#clients[name][method](call.request, this.#metadataOf(call), options, report);
  }

  #passStream(name, method, call) {
    const why = this.#refusalOf(method, call);
    if (why !== undefined) return call.emit('error', why);
    const metadata = this.#metadataOf(call);
    const inner = this.#clients[name][method](metadata);
    const watches = new Map();
    call.on('data', async (message) => {
      const isLeftOut =
        method === 'Watch' && (await this.#isUnanswered(message, watches, metadata));
      if (!isLeftOut) inner.write(message);
    });
    call.on('end', () => inner.end());
    call.on('cancelled', () => inner.cancel());
    inner.on('data', (message) => call.write(message));
    inner.on('end', () => call.end());
    inner.on('error', ({ code, details }) => call.emit('error', { code, details }));
    return inner;
  }

  /**
   * A request for progress has no answer while a watch of its stream waits for a revision to come.
   * @param {Buffer} message
   * @param {Map<string, bigint>} watches  of the stream: where each begins
   */
  async #isUnanswered(message, watches, metadata) {
    const { service } = this.#library.services.Watch;
    const request = service.Watch.requestDeserialize(message);
    const { create_request: created, cancel_request: canceled } = request;
    if (created) watches.set(created.watch_id, BigInt(created.start_revision));
    if (canceled) watches.delete(canceled.watch_id);
    if (created || canceled) return false; // what is left is a request for progress
    const revision = await this.#revision(metadata);
    return [...watches.values()].some((start) => start > revision);
  }

  async #revision(metadata) {
    const { Range } = this.#library.services.KV.service;
    const read = Range.requestSerialize({ key: Buffer.from(this.prefix ?? 'no key') });
    const answer = await promisify(this.#clients.KV.Range.bind(this.#clients.KV))(read, metadata);
    return BigInt(Range.responseDeserialize(answer).header.revision);
  }

  /** The parts of a call's metadata that etcd reads. */
  #metadataOf({ metadata }) {
    const passed = new this.#library.grpc.Metadata();
    for (const key of ['token', 'hasleader']) {
      for (const value of metadata.get(key)) passed.set(key, value);
    }
    return passed;
  }

  /** @param {Buffer} request */
  #toChange(request) {
    return this.#library.services.KV.service.Txn.requestDeserialize(request);
  }

  /** @param {Buffer} request  a transaction */
  #refusalOfChange(request) {
    const change = this.#toChange(request);
    if (this.isFull && writes(change)) return NO_SPACE;
    const { prefix } = this;
    const isAllowed = prefix === undefined || rangesOf(change).every((it) => isBelow(prefix, it));
    return isAllowed ? undefined : refusal(PERMISSION_DENIED, 'permission denied');
  }

  #refusalOf(method, { metadata, request }) {
    if (this.isStarting) return NOT_CAPABLE;
    if (method === 'Status') return this.#refusalOfStatus(metadata.get('token').length > 0);
    if (this.isLearner) return LEARNER;
    if (method === 'Txn') return this.#refusalOfChange(request);
    return this.isFull && method === 'LeaseGrant' ? NO_SPACE : undefined;
  }

  #refusalOfStatus(isUser) {
    if (this.showsStatusTo === 'everybody') return undefined;
    if (!isUser) return refusal(INVALID_ARGUMENT, 'user name is empty');
    return this.showsStatusTo === 'root'
      ? refusal(PERMISSION_DENIED, 'permission denied')
      : undefined;
  }
}

module.exports = { NewerEtcd };
