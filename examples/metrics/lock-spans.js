'use strict';

// An OpenTelemetry instrumentation: a span for each lock request, with its wait as a child.

const { subscribe, unsubscribe } = require('node:diagnostics_channel');
const { SpanStatusCode, context, trace } = require('@opentelemetry/api');

/** @typedef {import('holdfast').LockRequestMessage} Message */
/** @typedef {import('@opentelemetry/api').Span} Span */

/**
 * Makes spans of all lock requests of this thread, until the function that it returns is called.
 * @param {import('@opentelemetry/api').Tracer} tracer
 */
function traceLocks(tracer) {
  /** @type {WeakMap<Message, { request: Span, wait: Span }>} */
  const spans = new WeakMap();

  /** @type {Record<string, (message: Message) => void>} */
  const listeners = {
    'locks.request.start': (message) => {
      const { name, mode, bucket, label, requestedAt } = message;
      const attributes = {
        'lock.name': name,
        'lock.mode': mode,
        'lock.bucket': bucket,
        'lock.label': label,
      };
      // The caller's span is the parent: the message comes in its async context.
      const request = tracer.startSpan('lock request', { attributes, startTime: requestedAt });
      const inside = trace.setSpan(context.active(), request);
      const wait = tracer.startSpan('lock wait', { startTime: requestedAt }, inside);
      spans.set(message, { request, wait });
    },
    'locks.request.grant': (message) => {
      const found = spans.get(message);
      found?.wait.end(message.grantedAt ?? undefined);
      found?.request.setAttribute('lock.token', String(message.token));
    },
    'locks.request.lost': (message) => {
      spans.get(message)?.request.addEvent('lock lost');
    },
    'locks.request.end': (message) => {
      const found = spans.get(message);
      if (found === undefined) return;
      if (message.grantedAt === null) found.wait.end(message.endedAt ?? undefined);
      if (message.error !== undefined) {
        found.request.recordException(/** @type {Error} */ (message.error));
        found.request.setStatus({ code: SpanStatusCode.ERROR });
      }
      found.request.end(message.endedAt ?? undefined);
    },
  };
  const all = Object.entries(listeners);
  for (const [name, listener] of all) subscribe(name, /** @type {any} */ (listener));
  return () => {
    for (const [name, listener] of all) unsubscribe(name, /** @type {any} */ (listener));
  };
}

module.exports = { traceLocks };
