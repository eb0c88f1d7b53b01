// Unpacks traces that are compressed with gzip.

import { TraceError, TraceReader } from './reading.js';

const pieceSize = 65536;
/** The time for which reading may keep the page from answering, in milliseconds. */
const patience = 30;

/** Returns whether bytes begin as gzip does. */
export const isPacked = bytes => bytes[0] === 0x1f && bytes[1] === 0x8b;

/** Returns the bytes of a text in base64. */
export function bytesOfBase64(text) {
  const packed = text.replace(/\s+/g, '');
  try {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(packed);
    const binary = atob(packed);
    // A loop takes a tenth of the time of Uint8Array.from.
    const bytes = new Uint8Array(binary.length);
    for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
    return bytes;
  } catch {
    throw new TraceError('The trace is damaged: its base64 text cannot be decoded.');
  }
}

/**
 * Returns the trace of compressed bytes.
 *
 * @param {Uint8Array} bytes The trace, compressed with gzip.
 * @param {(share: number) => void} progress A function that receives the share that has been read.
 */
export async function unpack(bytes, progress) {
  if (typeof DecompressionStream === 'undefined') {
    throw new TraceError('This browser cannot unpack the trace: it has no DecompressionStream.');
  }
  const reader = new TraceReader();
  const texts = pieces(bytes, progress).pipeThrough(new DecompressionStream('gzip'))
    .pipeThrough(new TextDecoderStream()).getReader();
  let since = performance.now();
  for (;;) {
    const { done, value } = await next(texts);
    if (done) return reader.finish();
    reader.read(value);
    if (performance.now() - since < patience) continue;
    await new Promise(resolve => setTimeout(resolve));
    since = performance.now();
  }
}

async function next(texts) {
  try {
    return await texts.read();
  } catch {
    throw new TraceError('The trace is damaged: it cannot be unpacked.');
  }
}

function pieces(bytes, progress) {
  let at = 0;
  return new ReadableStream({
    pull(stream) {
      if (at >= bytes.length) {
        stream.close();
        return;
      }
      stream.enqueue(bytes.subarray(at, at + pieceSize));
      at += pieceSize;
      progress(Math.min(1, at / bytes.length));
    },
  });
}
