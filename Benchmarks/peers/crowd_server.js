// The server of the transport benchmarks, based on `ws`.
//
//   crowd_server.js [--deflate] [--ping SECONDS] [--tls CERTIFICATE KEY]
'use strict';
const fs = require('fs');
const http = require('http');
const https = require('https');
const WebSocket = require('ws');

const FRAME = '@' + 'f'.repeat(299);
const words = process.argv.slice(2);
const place = (name) => words.indexOf(name);
const tls = place('--tls');
const server = tls < 0 ? http.createServer() : https.createServer({
  cert: fs.readFileSync(words[tls + 1]), key: fs.readFileSync(words[tls + 2]),
});
const sockets = new WebSocket.Server({ server, perMessageDeflate: place('--deflate') >= 0 });

function fan(left) {
  if (left === 0) return;
  for (const socket of sockets.clients) socket.send(FRAME);
  setImmediate(fan, left - 1);
}

sockets.on('connection', (socket) => {
  socket.on('message', (bytes, isBinary) => {
    const text = bytes.length < 32 ? bytes.toString() : '';
    if (text.startsWith('fan ')) fan(Number(text.slice(4)));
    else socket.send(bytes, { binary: isBinary });
  });
});
if (place('--ping') >= 0) {
  setInterval(() => {
    for (const socket of sockets.clients) socket.ping();
  }, Number(words[place('--ping') + 1]) * 1000);
}
server.listen(0, '127.0.0.1', 4096, () => console.log(server.address().port));
