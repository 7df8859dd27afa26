'use strict';

const { once } = require('node:events');
const { connect, createServer } = require('node:net');

/** A port that passes on what it gets, as long as it is open. */
class TcpGate {
  /** And whether it is the server's. @type {Map<import('node:net').Socket, boolean>} */
  #sockets = new Map();
  #isOpen = true;
  #server;
  #target;
  #delayMs;
  /** Of each connection, from the server. */
  #bytesPerSecond = Infinity;
  /** That the first connection still passes on. */
  #answersLeft = Infinity;
  /**
   * Changes what the client or the server has sent.
   * @type {(data: Buffer, isOfServer: boolean) => Buffer}
   */
  change = (data) => data;

  /**
   * @param {string} endpoint  `host:port`
   * @param {number} [delayMs]  that answers come later
   */
  constructor(endpoint, delayMs = 0) {
    this.#delayMs = delayMs;
    const [host, port] = endpoint.split(':');
    this.#target = { host, port: Number(port) };
    this.#server = createServer({ pauseOnConnect: true }, (socket) => this.#accept(socket));
  }

  async open() {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
  }

  get endpoint() {
    return `127.0.0.1:${this.#server.address().port}`;
  }

  /** Nothing passes any more, without an error: sent data is kept, as in a network. */
  shut() {
    this.#isOpen = false;
    for (const socket of this.#sockets.keys()) socket.pause();
  }

  /** Only requests pass, of the connections that there are. */
  shutAnswers() {
    for (const [socket, isOfServer] of this.#sockets) if (isOfServer) socket.pause();
  }

  /** The first connection falls silent for ever after so many answers. @param {number} answers */
  shutFirstAfter(answers) {
    this.#answersLeft = answers;
  }

  /** Answers take as long as on a network of this rate. @param {number} bytesPerSecond */
  slowDown(bytesPerSecond) {
    this.#bytesPerSecond = bytesPerSecond;
  }

  /** Passes the kept data on. */
  unshut() {
    this.#isOpen = true;
    for (const socket of this.#sockets.keys()) socket.resume();
  }

  /** Ends all connections. */
  reset() {
    for (const socket of this.#sockets.keys()) socket.resetAndDestroy();
  }

  async close() {
    this.#server.close();
    this.reset();
    await once(this.#server, 'close');
  }

  /** @param {import('node:net').Socket} inside */
  #accept(inside) {
    const outside = connect(this.#target);
    let answersLeft = this.#answersLeft;
    this.#answersLeft = Infinity;
    for (const [from, to] of [
      [inside, outside],
      [outside, inside],
    ]) {
      this.#sockets.set(from, from === outside);
      const delayMs = from === outside ? this.#delayMs : 0;
      const pass = (action) => (delayMs === 0 ? action() : setTimeout(action, delayMs));
      from.on('data', (data) => {
        if (from === outside && answersLeft-- <= 0) return;
        pass(() => to.write(this.change(data, from === outside)));
        if (from !== outside || this.#bytesPerSecond === Infinity) return;
        from.pause();
        setTimeout(() => from.resume(), (data.length / this.#bytesPerSecond) * 1000);
      });
      from.on('end', () => pass(() => to.end()));
      from.on('error', () => {}); // 'close' follows
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      if (this.#isOpen) from.resume();
      else from.pause();
    }
  }
}

/** A separate gate to each member. */
class ClusterGate {
  /** @type {TcpGate[]} */
  #gates = [];
  #cluster;

  /**
   * @typedef {object} Cluster
   * @property {string[]} endpoints
   * @property {(endpoints: string[], prefix: string, query?: string) => string} urlOf
   *
   * @param {Cluster} cluster
   * @param {number} [delayMs]  that answers come later
   */
  static async open(cluster, delayMs) {
    const gate = new ClusterGate();
    gate.#cluster = cluster;
    gate.#gates = cluster.endpoints.map((endpoint) => new TcpGate(endpoint, delayMs));
    await Promise.all(gate.#gates.map((it) => it.open()));
    return gate;
  }

  url(prefix, query = '') {
    const endpoints = this.#gates.map(({ endpoint }) => endpoint);
    return this.#cluster.urlOf(endpoints, prefix, query);
  }

  shut() {
    for (const gate of this.#gates) gate.shut();
  }

  shutFirstAfter(answers) {
    for (const gate of this.#gates) gate.shutFirstAfter(answers);
  }

  slowDown(bytesPerSecond) {
    for (const gate of this.#gates) gate.slowDown(bytesPerSecond);
  }

  unshut() {
    for (const gate of this.#gates) gate.unshut();
  }

  reset() {
    for (const gate of this.#gates) gate.reset();
  }

  async close() {
    await Promise.all(this.#gates.map((gate) => gate.close()));
  }
}

module.exports = { ClusterGate, TcpGate };
