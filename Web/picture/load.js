// Opens the traces that are in the page, and those that are dropped onto it.

import { forget, recall } from './address.js';
import { byId } from '../shared/elements.js';
import { showMessages, showProgress } from './message.js';
import { buildModel } from './model.js';
import { moveTimes, readTrace, TraceError } from './reading.js';
import { changed, state } from './state.js';
import { bytesOfBase64, isPacked, unpack } from './unpack.js';

/** Opens the traces in the page. */
export async function loadPage() {
  const elements = document.querySelectorAll('script[type^="application/x-trace"]');
  await load([...elements].map(element => ({
    name: '',
    read: () => element.type.endsWith('+gzip')
      ? unpack(bytesOfBase64(element.textContent), showProgress)
      : readTrace(element.textContent.trim()),
  })));
  if (!elements.length) {
    showMessages(['This page contains no trace. Drop a trace onto it to open it.']);
  }
}

/** Opens files in place of the traces that are shown. */
async function loadFiles(files) {
  if (!files.length) return;
  await load([...files].map(file => ({
    name: file.name,
    read: async () => {
      const bytes = new Uint8Array(await file.arrayBuffer());
      return isPacked(bytes) ? unpack(bytes, showProgress)
        : readTrace(new TextDecoder().decode(bytes));
    },
  })));
}

/** Opens traces. Shows a sentence for each that cannot be read, and keeps what is shown then. */
async function load(sources) {
  const traces = [];
  const sentences = [];
  for (const { name, read } of sources) {
    const prefix = name && sources.length > 1 ? `${name}: ` : '';
    try {
      const trace = await read();
      traces.push(trace);
      if (trace.damaged.length) sentences.push(prefix + damageWords(trace));
    } catch (error) {
      if (!(error instanceof TraceError)) throw error;
      sentences.push(prefix + error.message);
    }
  }
  if (traces.length) {
    if (state.models.length) forget();
    if (!openTraces(traces)) {
      sentences.push('The traces are of different times, so each begins at 0:00.');
    }
  }
  showMessages(sentences);
}

function damageWords({ header, damaged }) {
  const lines = damaged.slice(0, 3).join(', ') + (damaged.length > 3 ? ', …' : '');
  const [words, verb] = damaged.length === 1 ? ['line', 'is not a fact and is']
    : ['lines', 'are not facts and are'];
  return `The trace “${header.name}” is damaged: ${words} ${lines} ${verb} left out.`;
}

/**
 * Opens traces on one axis.
 *
 * @returns {boolean} Whether the traces have a common time.
 */
function openTraces(traces) {
  nameApart(traces);
  const offsets = offsetsOf(traces);
  const shared = offsets ?? traces.map(() => 0);
  state.models = traces.map((trace, index) => {
    moveTimes(trace, shared[index]);
    return buildModel(trace, shared[index]);
  });
  state.chosen = 0;
  state.startedAt = Math.min(...traces.map(trace => trace.header.startedAt));
  if (!offsets) state.startedAt = NaN;
  state.end = Math.max(...state.models.map(one => one.end));
  document.body.dataset.state = 'open';
  changed('opened');
  recall();
  return offsets !== null;
}

/** Gives traces of the same name different ones. */
function nameApart(traces) {
  const seen = new Map();
  for (const { header } of traces) {
    const many = (seen.get(header.name) ?? 0) + 1;
    seen.set(header.name, many);
    if (many > 1) header.name = `${header.name} (${many})`;
  }
}

/**
 * Returns the begins of traces in seconds after the first one; `null` if the times between them are
 * longer than the traces, so that an axis would show nothing of them.
 */
function offsetsOf(traces) {
  if (traces.length === 1) return [0];
  const begins = traces.map(trace => trace.header.startedAt);
  if (!begins.every(Number.isFinite)) return null;
  const first = Math.min(...begins);
  const offsets = begins.map(begin => (begin - first) / 1000);
  const length = ({ header, events }) => Math.max(header.end, events.at(-1).t);
  const sum = traces.reduce((total, trace) => total + length(trace), 0);
  const end = Math.max(...traces.map((trace, index) => offsets[index] + length(trace)));
  return end <= Math.max(60, 3 * sum) ? offsets : null;
}

/** Opens files that are dropped onto the page. */
export function startDrop() {
  const sign = byId('drop');
  addEventListener('dragover', event => {
    if (!event.dataTransfer.types.includes('Files')) return;
    event.preventDefault();
    sign.hidden = false;
  });
  addEventListener('dragleave', event => {
    if (!event.relatedTarget) sign.hidden = true;
  });
  addEventListener('drop', event => {
    event.preventDefault();
    sign.hidden = true;
    loadFiles(event.dataTransfer.files);
  });
}
