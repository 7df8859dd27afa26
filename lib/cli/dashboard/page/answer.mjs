import { useEffect, useRef, useState } from 'preact/hooks';

/**
 * The newest answer of the server to a question that is asked again with each picture.
 * @param {string} url  empty: no question
 * @param {number | undefined} number  of the picture
 * @returns {any} undefined before the first answer
 */
export function useAnswer(url, number) {
  const [found, setFound] = useState({ url: '', answer: undefined });
  const asking = useRef('');
  const wanted = useRef(url);
  wanted.current = url;
  useEffect(() => {
    if (url === '' || asking.current === url) return; // a busy server is not asked twice at a time
    asking.current = url;
    fetch(url)
      .then((response) => response.json())
      .then((answer) => {
        if (wanted.current === url) setFound({ url, answer });
      })
      .catch(() => {}) // the next picture asks again; the head of the page shows failures
      .finally(() => {
        if (asking.current === url) asking.current = '';
      });
  }, [url, number]);
  return found.url === url ? found.answer : undefined;
}
