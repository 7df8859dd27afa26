'use strict';

// relay.js <socket>: whoever sends `q` waits for a turn; `r` gives it to the one who waits longest.

const net = require('node:net');

let isTaken = false;
const waiting = [];

function giveNext() {
  const next = waiting.shift();
  isTaken = next !== undefined;
  next?.write('g');
}

const server = net.createServer((socket) => {
  socket.setEncoding('latin1');
  socket.on('data', (text) => {
    for (const letter of text) {
      if (letter === 'r') giveNext();
      else if (waiting.push(socket) === 1 && !isTaken) giveNext();
    }
  });
  socket.on('error', () => socket.destroy());
});
server.listen(process.argv[2], () => process.send('ready'));
process.on('disconnect', () => process.exit());
