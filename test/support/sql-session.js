'use strict';

const { once } = require('node:events');
const { FUNCTIONS } = require('../../lib/backends/postgres/schema.js');
const { Step, statementsOf } = require('../../lib/backends/postgres/step.js');

/** The advisory locks of sessions: lib/backends/postgres/schema.js. */
const SESSION_LOCKS = 1212368708;

/** Of `maxPending`: any number. */
const ANY_NUMBER = 2 ** 31 - 1;

/** Of enter() in a step, from the number of the request on: its floor, its priority, waits. */
const ENTER_DEFAULTS = [0, 'x', false, ANY_NUMBER, 0, 0, '', 0, 1, false];

/** A session of the schema without the backend: it calls the functions and collects the notes. */
class SqlSession {
  client;
  session;
  epoch;
  bucket;
  /** The random part of all channels. */
  channels;
  /** The schema of the functions. */
  functions;
  /** @type {string[]} notifications that were not taken */
  #notes = [];
  #number = 0;
  /** @type {Map<number, string>} */
  #tickets = new Map();

  /**
   * @param {import('./postgres-server.js').PostgresServer} server
   * @param {{ bucket?: string, agent?: string, user?: string, functions?: string }} [options]
   */
  static async open(server, options = {}) {
    const { bucket = 'bucket', agent = 'agent', user, functions = FUNCTIONS } = options;
    const self = new SqlSession();
    Object.assign(self, { bucket, functions });
    self.client = await server.connect({ user });
    self.client.on('notification', ({ payload }) => self.#notes.push(payload));
    const text = `SELECT session, epoch, channels, pause_ms FROM ${functions}.open($1, $2, 0)`;
    const { rows } = await self.client.query(text, [bucket, agent]);
    const [{ pause_ms: pauseMs, ...session }] = rows;
    Object.assign(self, session);
    await self.client.query(statementsOf(functions));
    await self.client.query(`LISTEN ${self.channel(self.session)}`);
    await self.call('bury_all', bucket, self.session, pauseMs > 0 ? '0' : self.epoch);
    return self;
  }

  /** @param {string | number} last  part of its name */
  channel(last) {
    return `holdfast_${this.channels}_${last}`;
  }

  /** @param {string} name  of a function @param {...any} values @returns its one value */
  async call(name, ...values) {
    const parameters = values.map((_, index) => `$${index + 1}`).join();
    const text = `SELECT ${this.functions}.${name}(${parameters}) AS answer`;
    const { rows } = await this.client.query({ name, text, values });
    return rows[0].answer;
  }

  /** @param {string} text @param {any[]} [values] */
  async rows(text, values) {
    const { rows } = await this.client.query(text, values);
    return rows;
  }

  /** @returns {Promise<[string, number]>} the answer, and the number of the request */
  async enter(options = {}) {
    const number = (this.#number += 1);
    return [await this.enterAs(number, options), number];
  }

  /** @param {number} number */
  async enterAs(number, options) {
    const { key = 'key', mode = 'x', limit = 0, holdMs = 0, details = '', floor = '0' } = options;
    const { steal = false, maxPending = ANY_NUMBER, priority = 1 } = options;
    const request = [number, mode, steal, maxPending, limit, holdMs, details, floor, priority];
    const own = [this.session, this.epoch];
    return this.#noteTicket(await this.call('enter', this.bucket, key, ...own, ...request), number);
  }

  /** The ticket of a request that does not steal. @param {number} number */
  ticketOf(number) {
    return this.#tickets.get(number);
  }

  /** Takes the ticket out of an answer. @param {string | null} answer @param {number} number */
  #noteTicket(answer, number) {
    const parts = /^([gw] \d+) (\d+)(.*)$/.exec(answer ?? '');
    if (parts === null) return answer;
    this.#tickets.set(number, parts[2]);
    return parts[1] + parts[3];
  }

  leave(number, { key = 'key', why = '' } = {}) {
    return this.call('leave', this.bucket, key, this.session, this.epoch, number, why);
  }

  /** @param {number} number @param {number} priority */
  changePriority(number, priority, { key = 'key' } = {}) {
    const own = [this.session, this.epoch];
    return this.call('change_priority', this.bucket, key, ...own, number, priority);
  }

  watchContention(number, { key = 'key' } = {}) {
    return this.call('watch_contention', this.bucket, key, this.session, number);
  }

  /** Of an enter() the last values may be left out. @param {[string, string, ...any][]} ops */
  async step(...ops) {
    const calls = ops.map(([name, key, ...values]) => {
      const rest = name === 'enter' ? ENTER_DEFAULTS.slice(values.length) : [];
      return [name, [this.bucket, key, this.session, this.epoch, ...values, ...rest]];
    });
    const answers = await new Promise((resolve, reject) => {
      this.client.query(new Step(calls, (error, all) => (error ? reject(error) : resolve(all))));
    });
    return answers.map((answer, at) => this.#noteTicket(answer, ops[at][2]));
  }

  bury(session) {
    return this.call('bury', this.bucket, session, this.session, this.epoch);
  }

  /** As a session that waits does once a second. */
  async sweep() {
    const text = `SELECT key, session FROM ${this.functions}.overdue($1, $2)`;
    for (const { key, session } of await this.rows(text, [this.bucket, this.session])) {
      if (session === null) await this.expire(key);
      else await this.bury(session);
    }
  }

  expire(key = 'key') {
    return this.call('expire', this.bucket, key, this.session, this.epoch);
  }

  inspect() {
    const text = `SELECT * FROM ${this.functions}.inspect($1, $2)`;
    return this.rows(text, [this.bucket, this.session]);
  }

  async locked(key = 'key') {
    const text = `
      SELECT count(*) FILTER (WHERE mode = 'x')::int AS exclusive,
        count(*) FILTER (WHERE mode = 's')::int AS shared
      FROM ${this.functions}.holders($1, $2, $3, NULL)`;
    const [{ exclusive, shared }] = await this.rows(text, [this.bucket, key, this.session]);
    return [exclusive, shared];
  }

  /** The notifications of all calls that have been answered. */
  async notes() {
    await this.client.query('SELECT 1');
    return this.#notes.splice(0);
  }

  /** Waits for a notification. */
  async note() {
    while (this.#notes.length === 0) await once(this.client, 'notification');
    return this.#notes.shift();
  }

  async close() {
    while (await this.call('close', this.bucket, this.session, this.epoch));
    await this.client.end();
  }

  /** The connection breaks off, as at the death of the process; the server notices it later. */
  breakOff() {
    this.client.connection.stream.destroy();
  }

  /** The connection breaks off. Resolves when the session is dead. @param {SqlSession} witness */
  async die(witness) {
    this.breakOff();
    await witness.untilDead(this.session);
  }

  /** @param {number} session */
  async untilDead(session) {
    const lock = [SESSION_LOCKS, session];
    await this.client.query('SELECT pg_advisory_lock_shared($1, $2)', lock);
    await this.client.query('SELECT pg_advisory_unlock_shared($1, $2)', lock);
  }
}

module.exports = { ANY_NUMBER, SESSION_LOCKS, SqlSession };
