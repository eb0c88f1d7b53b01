// The engine: the links of the package, compiled to WebAssembly, in a worker.

import { program } from './worker.js';

/** An engine that answers one request after the other without keeping the page from answering. */
export class Engine {
  /**
   * Starts an engine.
   *
   * @param {string} packed The module: compressed with gzip, in base64.
   */
  constructor(packed) {
    this.packed = packed;
    this.number = 0;
    this.waiting = new Map();
    this.start();
  }

  start() {
    const source = `(${program})();`;
    const address = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
    const worker = new Worker(address);
    URL.revokeObjectURL(address);
    // A message may be on its way when its worker is dropped.
    const ifPresent = take => event => { if (worker === this.worker) take(event); };
    worker.onmessage = ifPresent(({ data }) => this.take(data));
    worker.onerror = ifPresent(event => this.drop(event.message || 'the worker failed'));
    worker.postMessage({ packed: this.packed });
    this.worker = worker;
  }

  take({ number, text, took, failure }) {
    if (failure) {
      this.drop(failure);
      return;
    }
    const { resolve, reject } = this.waiting.get(number);
    this.waiting.delete(number);
    try {
      resolve({ ...JSON.parse(text), text, took });
    } catch (error) {
      reject(error);
    }
  }

  /** Ends the worker, whose memory a failure may have damaged, and all requests that wait. */
  drop(reason) {
    this.worker.terminate();
    this.worker = null;
    const waiting = [...this.waiting.values()];
    this.waiting.clear();
    for (const { reject } of waiting) reject(new Error(reason));
  }

  /**
   * Returns the answer to a request, with its `text` and the milliseconds that it `took`. After a
   * failure, the next request starts the engine again.
   *
   * @param {string[]} lines The kind of the request, and lines `KEY=VALUE`.
   */
  ask(lines) {
    if (!this.worker) this.start();
    this.number += 1;
    const { number } = this;
    return new Promise((resolve, reject) => {
      this.waiting.set(number, { resolve, reject });
      this.worker.postMessage({ number, request: lines.join('\n') });
    });
  }

  /** Drops what the engine works on, and starts it again. */
  restart() {
    if (this.worker) this.drop('its request was dropped');
    this.start();
  }
}
