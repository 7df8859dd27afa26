'use strict';

// echo.js <socket>: sends back what it is sent.

const net = require('node:net');

const server = net.createServer((socket) => {
  socket.setEncoding('utf8');
  socket.on('data', (text) => socket.write(text));
});
server.listen(process.argv[2], () => process.send('ready'));
process.on('disconnect', () => process.exit());
