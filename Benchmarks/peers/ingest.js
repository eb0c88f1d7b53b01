// Follows a stream of shop messages as a careful Node client would: `ws`, JSON, SQLite.
//
// Each frame is parsed, validated, deduplicated by its id, inserted into a timeline of the newest
// 1,000 messages, and stored. Messages that arrive during a transaction are stored in the next one,
// which contains at most 1,000. The program prints a line and ends once COUNT messages are stored.
'use strict';
const EventEmitter = require('events').EventEmitter;
const WebSocket = require('ws');
// The binding is loaded directly, since its package needs an installer from Node's registry. The
// loop below adds the methods that the package would add.
const { Database, Statement } = require(process.env.SQLITE_BINDING);
for (const kind of [Database, Statement]) {
  for (const key in EventEmitter.prototype) kind.prototype[key] = EventEmitter.prototype[key];
}

const [url, path, shop, wanted] = process.argv.slice(2);
const count = Number(wanted);
const BATCH = 1000;
const MEMORY = 1000;
const seen = new Set();
const timeline = [];
const waiting = [];
let stored = 0;
let busy = false;

const call = (target, method, ...words) => new Promise((done, fail) => {
  target[method](...words, (error) => (error ? fail(error) : done()));
});

function message(bytes) {
  const fields = JSON.parse(bytes);
  if (fields.shop_id !== shop || typeof fields.message !== 'string') throw new Error('not ours');
  if ([...fields.message].length > 10000) throw new Error('too long');
  const created = Date.parse(fields.created_at);
  if (Number.isNaN(created)) throw new Error('no time');
  return { created, id: fields.id, user: fields.user_id, username: fields.username,
    text: fields.message, position: (fields.position || ':0').split(':') };
}

function place(entry) {
  let low = 0;
  let high = timeline.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const other = timeline[middle];
    const isBefore = other.created < entry.created
      || (other.created === entry.created && other.id < entry.id);
    if (isBefore) low = middle + 1; else high = middle;
  }
  timeline.splice(low, 0, entry);
  if (timeline.length > MEMORY) timeline.shift();
}

async function store(database, insert, move) {
  if (busy) return;
  busy = true;
  while (waiting.length > 0) {
    const rows = waiting.splice(0, BATCH);
    await call(database, 'exec', 'BEGIN');
    for (const row of rows) {
      insert.run(shop, Buffer.from(row.id.replaceAll('-', ''), 'hex'), row.user, row.username,
        row.text, row.created * 1e6, ...row.position);
    }
    const last = rows[rows.length - 1].position;
    await call(move, 'run', shop, ...last);
    await call(database, 'exec', 'COMMIT');
    for (const row of rows) place(row);
    stored += rows.length;
  }
  busy = false;
  if (stored >= count) {
    console.log('stored');
    process.exit(0);
  }
}

const database = new Database(path, async () => {
  await call(database, 'exec', `
    PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 4000;
    CREATE TABLE messages(shop TEXT NOT NULL, id BLOB NOT NULL, user TEXT NOT NULL, username TEXT,
      text TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER,
      is_edited INTEGER NOT NULL, parent BLOB, epoch TEXT, offset INTEGER,
      PRIMARY KEY (shop, id));
    CREATE INDEX timeline ON messages(shop, created_at, id);
    CREATE TABLE cursors(shop TEXT PRIMARY KEY NOT NULL, epoch TEXT, offset INTEGER)
      WITHOUT ROWID;`);
  const insert = new Statement(database, `INSERT INTO messages
    VALUES (?, ?, ?, ?, ?, ?, NULL, 0, NULL, ?, ?) ON CONFLICT DO NOTHING`, () => {});
  const move = new Statement(database, 'INSERT OR REPLACE INTO cursors VALUES (?, ?, ?)', () => {});
  database.serialize();
  const socket = new WebSocket(url, { perMessageDeflate: false, maxPayload: 10240 });
  socket.on('message', (bytes) => {
    const entry = message(bytes);
    if (seen.has(entry.id)) return;
    seen.add(entry.id);
    waiting.push(entry);
    if (!busy) setImmediate(() => store(database, insert, move));
  });
});
