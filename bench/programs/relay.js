'use strict';

// relay.js <socket>: a client that sends `q` waits for a turn, and is sent `g`. An `r`, or the end
// of the connection, gives the turn to the client that waits longest.

const net = require('node:net');

/** @type {net.Socket | undefined} */
let holder;
/** @type {net.Socket[]} */
let waiting = [];

function giveNext() {
  holder = waiting.shift();
  holder?.write('g');
}

/** @param {net.Socket} socket */
function onClose(socket) {
  waiting = waiting.filter((one) => one !== socket);
  if (holder === socket) giveNext();
}

const server = net.createServer((socket) => {
  socket.setEncoding('latin1');
  socket.on('data', (text) => {
    for (const letter of text) {
      if (letter === 'r') giveNext();
      else if (waiting.push(socket) === 1 && holder === undefined) giveNext();
    }
  });
  socket.on('error', () => socket.destroy());
  socket.on('close', () => onClose(socket));
});
server.listen(process.argv[2], () => process.send('ready'));
process.on('disconnect', () => process.exit());
