// The feed of the server: one picture after the other, kept for a minute.

import { useEffect, useRef, useState } from 'preact/hooks';

const MINUTE_MS = 60_000;
const MAX_INCIDENTS = 200;

/** @typedef {import('./types.d.ts').Picture} Picture */
/** @typedef {import('./types.d.ts').Moment} Moment */
/** @typedef {import('./types.d.ts').Feed} Feed */

/**
 * Selects the parts of a picture that the charts and the timeline need.
 * @param {Picture} picture
 * @returns {Moment}
 */
function toMoment(picture) {
  return {
    time: picture.time,
    grants: picture.rates.grants,
    waiting: picture.totals.pending,
    held: picture.totals.held,
    deaths: picture.rates.deaths,
    deadlocks: picture.deadlocks.length,
    locks: new Map(
      picture.locks.map((lock) => [
        lock.name,
        {
          held: lock.held,
          waiting: lock.waiting,
          rate: lock.rate,
          isDeadlocked: lock.isDeadlocked,
        },
      ]),
    ),
  };
}

/**
 * @param {Feed} feed
 * @param {Picture} picture
 * @returns {Feed}
 */
function withPicture(feed, picture) {
  const moments = [...feed.moments, toMoment(picture)].filter(
    ({ time }) => time > picture.time - MINUTE_MS,
  );
  const incidents = [...picture.incidents.toReversed(), ...feed.incidents].slice(0, MAX_INCIDENTS);
  return { state: 'live', picture, moments, incidents, message: '' };
}

/** @type {Feed} */
const NOTHING = {
  state: 'connecting',
  picture: undefined,
  moments: [],
  incidents: [],
  message: '',
};

/**
 * @param {boolean} isPaused
 * @returns {Feed}
 */
export function useFeed(isPaused) {
  const [feed, setFeed] = useState(NOTHING);
  useEffect(() => {
    if (isPaused) return undefined;
    const source = new EventSource('events');
    source.addEventListener('picture', ({ data }) => {
      const picture = JSON.parse(data);
      setFeed((before) => withPicture(before, picture));
    });
    source.addEventListener('failure', ({ data }) => {
      setFeed((before) => ({ ...before, state: 'failed', message: JSON.parse(data).message }));
    });
    source.addEventListener('error', () => {
      setFeed((before) => ({ ...before, state: before.state === 'failed' ? 'failed' : 'lost' }));
    });
    return () => source.close();
  }, [isPaused]);
  return feed;
}

/**
 * The newest answer of the server to a question that is asked again with each picture.
 * @param {string} url  empty: no question
 * @param {number | undefined} number  of the picture
 * @returns {any} undefined before the first answer
 */
export function useAnswer(url, number) {
  const [found, setFound] = useState({ url: '', answer: undefined });
  const fetching = useRef('');
  const wanted = useRef(url);
  wanted.current = url;
  useEffect(() => {
    if (url === '' || fetching.current === url) return; // a busy server is not asked twice at a time
    fetching.current = url;
    fetch(url)
      .then((response) => response.json())
      .then((answer) => {
        if (wanted.current === url) setFound({ url, answer });
      })
      .catch(() => {}) // the next picture asks again; the head of the page shows failures
      .finally(() => {
        if (fetching.current === url) fetching.current = '';
      });
  }, [url, number]);
  return found.url === url ? found.answer : undefined;
}
