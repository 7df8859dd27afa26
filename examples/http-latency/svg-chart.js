'use strict';

const WIDTH = 720;
const PANEL = 190;
const PLOT = { left: 24, top: 50, height: 90, width: WIDTH - 48 };
const COLORS = ['#8a94a6', '#d1603d', '#2f7f6f'];

/** @param {string} text */
const escape = (text) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;');

/**
 * @param {number} x
 * @param {number} y
 * @param {string} text
 * @param {string} [attributes]
 */
const label = (x, y, text, attributes = '') =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${attributes}>${escape(text)}</text>`;

/**
 * @param {import('./main.js').Result} result
 * @param {number} index
 */
function drawPanel({ title, bins, p50, p99, chunks }, index) {
  const most = Math.max(...bins.map(({ count }) => count));
  const step = PLOT.width / bins.length;
  const base = PLOT.top + PLOT.height;
  const bars = bins.flatMap(({ label: text, count }, bin) => {
    const height = (count / most) * PLOT.height;
    const x = PLOT.left + bin * step;
    const middle = 'text-anchor="middle" class="small"';
    return [
      `<rect x="${(x + 2).toFixed(1)}" y="${(base - height).toFixed(1)}" ` +
        `width="${(step - 4).toFixed(1)}" height="${height.toFixed(1)}" fill="${COLORS[index]}"/>`,
      ...(count > 0 ? [label(x + step / 2, base - height - 4, String(count), middle)] : []),
      label(x + step / 2, base + 14, text, middle),
    ];
  });
  const numbers = `median ${p50.toFixed(1)} ms · 99 % within ${p99.toFixed(1)} ms`;
  return [
    `<g transform="translate(0 ${index * PANEL + 40})">`,
    label(PLOT.left, 16, title, 'class="title"'),
    label(WIDTH - 24, 16, `${numbers} · ${chunks} chunks of work`, 'text-anchor="end"'),
    `<line x1="${PLOT.left}" x2="${WIDTH - 24}" y1="${base}" y2="${base}" stroke="#c3c9d4"/>`,
    ...bars,
    '</g>',
  ];
}

/**
 * Draws histograms as an SVG picture.
 * @param {import('./main.js').Result[]} results
 * @returns {string}
 */
function drawSvg(results) {
  const height = results.length * PANEL + 40;
  const style =
    'text { font: 12px system-ui, sans-serif; fill: #3a4252 } ' +
    '.title { font-weight: 600 } .small { font-size: 10px } .head { font-size: 15px }';
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" ` +
      'aria-label="Latency of an HTTP server with work in the background">',
    `<style>${style}</style>`,
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    label(24, 26, 'Requests by latency, with work in the background', 'class="title head"'),
    ...results.flatMap(drawPanel),
    '</svg>',
    '',
  ].join('\n');
}

module.exports = { drawSvg };
