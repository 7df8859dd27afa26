'use strict';

const { isObject } = require('../webidl.js');

/**
 * One event handler attribute of one target: `onprioritychange`. A listener is registered while
 * there is a handler, and keeps its place among the others when the handler is replaced.
 * Standard: HTML, #event-handler-attributes.
 */
class EventHandler {
  /** @type {object | null} what the attribute gives */
  #value = null;
  #type;

  /** @param {string} type  of the event */
  constructor(type) {
    this.#type = type;
  }

  get value() {
    return this.#value;
  }

  /** @param {Event} event */
  handleEvent(event) {
    const handler = this.#value;
    if (typeof handler !== 'function') return;
    if (Reflect.apply(handler, event.currentTarget, [event]) === false) event.preventDefault();
  }

  /**
   * @param {EventTarget} target
   * @param {unknown} value  anything but an object counts as null
   */
  assign(target, value) {
    const wasNull = this.#value === null;
    this.#value = isObject(value) ? value : null;
    const isNull = this.#value === null;
    if (wasNull && !isNull) target.addEventListener(this.#type, this);
    if (isNull && !wasNull) target.removeEventListener(this.#type, this);
  }
}

module.exports = { EventHandler };
