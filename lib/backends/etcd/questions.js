'use strict';

const { invalidStateError } = require('../../errors.js');
const { toDOMException } = require('./etcd-errors.js');

const UNANSWERED =
  'etcd has not answered in time: is it reached, and has this process time to run?';

/** Questions to the session's thread, each with a number, and what their answers settle. */
class Questions {
  /** @type {Map<number, { resolve: (value: any) => void, reject: (error: unknown) => void }>} */
  #open = new Map();
  #lastId = 0;
  #post;

  #findReason;

  /**
   * @param {(message: object) => void} post
   * @param {() => string | undefined} findReason  for the cluster's silence
   */
  constructor(post, findReason) {
    this.#post = post;
    this.#findReason = findReason;
  }

  get isEmpty() {
    return this.#open.size === 0;
  }

  /** @param {object} question @returns {Promise<any>} */
  ask(question) {
    return new Promise((resolve, reject) => this.#send(question, resolve, reject));
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
    if (error === undefined) question?.resolve(value);
    else question?.reject(toDOMException(error));
  }

  /** @param {() => unknown} makeError */
  rejectAll(makeError) {
    for (const { reject } of this.#open.values()) reject(makeError());
    this.#open.clear();
  }

  /**
   * @param {object} question
   * @param {(value: any) => void} resolve
   * @param {(error: unknown) => void} reject
   */
  #send(question, resolve, reject) {
    this.#lastId += 1;
    this.#open.set(this.#lastId, { resolve, reject });
    this.#post({ ...question, id: this.#lastId });
  }
}

module.exports = { Questions };
