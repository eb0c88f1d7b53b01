// The worker in which the engine runs.

/**
 * The program of the worker. It must not use anything outside of itself, since the worker gets only
 * its text. Its first message has the module; each other one is a request.
 */
export function program() {
  /** The engine, or the failure of its start: a promise. */
  let starting = null;

  async function start(packed) {
    const bytes = Uint8Array.from(atob(packed), letter => letter.charCodeAt(0));
    const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    const module = await new Response(unpacked).arrayBuffer();
    return (await WebAssembly.instantiate(module, {})).instance.exports;
  }

  function answer(engine, request) {
    const bytes = new TextEncoder().encode(request);
    const room = engine.holdfast_room(bytes.length);
    new Uint8Array(engine.memory.buffer, room, bytes.length).set(bytes);
    const reply = engine.holdfast_answer(room, bytes.length);
    const size = new DataView(engine.memory.buffer).getUint32(reply, true);
    const text = new TextDecoder().decode(new Uint8Array(engine.memory.buffer, reply + 4, size));
    engine.holdfast_free(reply);
    engine.holdfast_free(room);
    return text;
  }

  onmessage = async ({ data }) => {
    const { packed, number, request } = data;
    if (packed !== undefined) {
      starting = start(packed);
      // Each request reports the failure.
      starting.catch(() => {});
      return;
    }
    try {
      const engine = await starting;
      const began = performance.now();
      const text = answer(engine, request);
      postMessage({ number, text, took: performance.now() - began });
    } catch (error) {
      postMessage({ number, failure: String(error) });
    }
  };
}
