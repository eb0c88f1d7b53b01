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
    this.worker = new Worker(address);
    URL.revokeObjectURL(address);
    this.worker.onmessage = ({ data }) => this.take(data);
    this.ready = new Promise((resolve, reject) => {
      this.settle = { resolve, reject };
    });
    // Each request reports the failure.
    this.ready.catch(() => {});
    this.worker.onerror = event => this.settle.reject(new Error(event.message));
    this.worker.postMessage({ packed: this.packed });
  }

  take({ isReady, number, text, took, failure }) {
    if (isReady) {
      this.settle.resolve();
      return;
    }
    if (number === undefined) {
      this.settle.reject(new Error(failure));
      return;
    }
    const { resolve, reject } = this.waiting.get(number);
    this.waiting.delete(number);
    if (failure) reject(new Error(failure));
    else resolve({ ...JSON.parse(text), text, took });
  }

  /**
   * Returns the answer to a request, with its `text` and the milliseconds that it `took`.
   *
   * @param {string[]} lines The kind of the request, and lines `KEY=VALUE`.
   */
  async ask(lines) {
    const { worker } = this;
    await this.ready;
    // A later engine has its own requests.
    if (worker !== this.worker) return new Promise(() => {});
    this.number += 1;
    const { number } = this;
    return new Promise((resolve, reject) => {
      this.waiting.set(number, { resolve, reject });
      worker.postMessage({ number, request: lines.join('\n') });
    });
  }

  /** Drops what the engine works on. Its answers never come. */
  restart() {
    this.worker.terminate();
    this.waiting.clear();
    this.start();
  }
}
