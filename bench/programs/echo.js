'use strict';

// echo.js <socket> [file]: sends back what it is sent; with a file, after it has written it there.

const fs = require('node:fs');
const net = require('node:net');

const [, , path, file] = process.argv;
/** The file is written over and over, so that it does not grow. */
const MAX_BYTES = 2 ** 20;

const fd = file === undefined ? undefined : fs.openSync(file, 'w');
let end = 0;

/** @param {string} text */
function note(text) {
  end = end > MAX_BYTES ? 0 : end + fs.writeSync(fd, text, end);
}

const server = net.createServer((socket) => {
  socket.setEncoding('utf8');
  socket.on('data', (text) => {
    if (fd !== undefined) note(text);
    socket.write(text);
  });
});
server.listen(path, () => process.send('ready'));
process.on('disconnect', () => process.exit());
