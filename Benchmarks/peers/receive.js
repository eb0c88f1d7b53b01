// Receives COUNT messages from a server and prints their rate, or connects COUNT times.
//
//   receive.js URL COUNT [AUTHORITIES]            prints messages per second
//   receive.js URL COUNT [AUTHORITIES] --text     also creates a string from each message
//   receive.js URL COUNT [AUTHORITIES] --connect  prints the median microseconds of a connect
'use strict';
const fs = require('fs');
const WebSocket = require('ws');

const [url, wanted, ...rest] = process.argv.slice(2);
const count = Number(wanted);
const authorities = rest.find((word) => !word.startsWith('--'));
const isText = rest.includes('--text');
const options = { perMessageDeflate: false };
if (authorities) options.ca = fs.readFileSync(authorities);

function receive() {
  const socket = new WebSocket(url, options);
  let left = count;
  let letters = 0;
  let start;
  socket.on('open', () => {
    start = process.hrtime.bigint();
    socket.send(`push ${count}`);
  });
  socket.on('message', (bytes) => {
    left -= 1;
    if (isText) letters += bytes.toString().length;
    if (left > 0) return;
    if (isText && letters !== count * 300) throw new Error('letters were lost');
    console.log(count / (Number(process.hrtime.bigint() - start) / 1e9));
    process.exit(0);
  });
}

async function connects() {
  const times = [];
  const kept = [];
  for (let number = 0; number < count; number += 1) {
    const start = process.hrtime.bigint();
    const socket = new WebSocket(url, options);
    kept.push(socket);
    await new Promise((done, fail) => { socket.on('open', done); socket.on('error', fail); });
    times.push(Number(process.hrtime.bigint() - start) / 1e3);
  }
  times.sort((left, right) => left - right);
  console.log(times[Math.floor(times.length / 2)]);
  process.exit(0);
}

if (rest.includes('--connect')) connects(); else receive();
