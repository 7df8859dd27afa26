'use strict';

const { invalidStateError } = require('../../errors.js');
const { clearTimeout, setTimeout } = require('../../time.js');
const { toDOMException } = require('./etcd-errors.js');

const UNANSWERED =
  'etcd has not answered in time: is it reached, and has this process time to run?';

/**
 * @typedef {object} Question
 * @property {(value: any) => void} resolve
 * @property {(error: unknown) => void} reject
 * @property {NodeJS.Timeout} [timer]
 */

/** Questions to the session's thread, each with a number, and what their answers settle. */
class Questions {
  /** @type {Map<number, Question>} */
  #open = new Map();
  #lastId = 0;
  #post;
  #findReason;
  #hasSession;
  #maxAnswerMs;

  /**
   * @param {(message: object) => void} post
   * @param {object} cluster
   * @param {() => string | undefined} cluster.findReason  for its silence
   * @param {() => boolean} cluster.hasSession  that is valid: it has answered within the TTL
   * @param {number} cluster.maxAnswerMs  the longest wait for an answer without a session
   */
  constructor(post, { findReason, hasSession, maxAnswerMs }) {
    this.#post = post;
    this.#findReason = findReason;
    this.#hasSession = hasSession;
    this.#maxAnswerMs = maxAnswerMs;
  }

  get isEmpty() {
    return this.#open.size === 0;
  }

  /**
   * @param {object} question
   * @returns {Promise<any>}
   * @throws InvalidStateError if no answer has come and the session is over (rejects)
   */
  ask(question) {
    return new Promise((resolve, reject) => {
      const id = this.#send(question, resolve, reject);
      this.#limit(id);
    });
  }

  /** The answer of a session that is valid may take longer. @param {number} id */
  #limit(id) {
    const question = this.#open.get(id);
    if (question === undefined) return;
    question.timer = setTimeout(() => {
      if (this.#hasSession()) {
        this.#limit(id);
      } else {
        this.#open.delete(id);
        question.reject(this.#unanswered());
      }
    }, this.#maxAnswerMs).unref();
  }

  /**
   * @param {object} question
   * @param {(isAnswered: () => boolean) => void} block  until it is answered, or has to do without
   * @returns {any}
   * @throws what it is rejected with; an InvalidStateError where it is not answered
   */
  askSync(question, block) {
    /** @type {{ value?: unknown, error?: unknown } | undefined} */
    let answer;
    this.#send(
      question,
      (value) => (answer = { value }),
      (error) => (answer = { error }),
    );
    block(() => answer !== undefined);
    const { value, error } = answer ?? { error: this.#unanswered() };
    if (error !== undefined) throw error;
    return value;
  }

  #unanswered() {
    const reason = this.#findReason();
    return invalidStateError(reason === undefined ? UNANSWERED : `${UNANSWERED} ${reason}`);
  }

  /** @param {{ id: number, value: unknown, error: any }} reply */
  onReply({ id, value, error }) {
    const question = this.#open.get(id);
    this.#open.delete(id);
    clearTimeout(question?.timer);
    if (error === undefined) question?.resolve(value);
    else question?.reject(toDOMException(error));
  }

  /** @param {() => unknown} makeError */
  rejectAll(makeError) {
    for (const { timer, reject } of this.#open.values()) {
      clearTimeout(timer);
      reject(makeError());
    }
    this.#open.clear();
  }

  /**
   * @param {object} question
   * @param {(value: any) => void} resolve
   * @param {(error: unknown) => void} reject
   * @returns {number} its id
   */
  #send(question, resolve, reject) {
    this.#lastId += 1;
    this.#open.set(this.#lastId, { resolve, reject });
    this.#post({ ...question, id: this.#lastId });
    return this.#lastId;
  }
}

module.exports = { Questions };
