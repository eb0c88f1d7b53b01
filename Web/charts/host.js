// The messages between this page and the host that shows it (MCP Apps, 2026-01-26).

const version = '2026-01-26';
const host = window.parent;

/** The id of the only request of this page. */
const first = 1;

const send = message => host.postMessage({ jsonrpc: '2.0', ...message }, '*');

/** What is done for the messages of the host, by their method. */
const handlers = {};

function answer({ id, method }) {
  const isKnown = method === 'ping' || method === 'ui/resource-teardown';
  send(isKnown ? { id, result: {} }
    : { id, error: { code: -32601, message: `Method not found: ${method}` } });
}

function receive({ source, data }) {
  if (source !== host || data?.jsonrpc !== '2.0') return;
  if (data.method === undefined) {
    if (data.id !== first || !data.result) return;
    handlers.context?.(data.result.hostContext ?? {});
    send({ method: 'ui/notifications/initialized', params: {} });
    startSizes();
  } else if (data.id !== undefined) {
    answer(data);
  } else if (Object.hasOwn(methods, data.method)) {
    handlers[methods[data.method]]?.(data.params ?? {});
  }
}

const methods = {
  'ui/notifications/host-context-changed': 'context',
  'ui/notifications/tool-input': 'input',
  'ui/notifications/tool-result': 'result',
  'ui/notifications/tool-cancelled': 'cancelled',
};

/** Tells the host the size of the page, and each change of it. */
function startSizes() {
  let told = '';
  const tell = () => {
    const { width, height } = document.body.getBoundingClientRect();
    const params = { width: Math.ceil(width), height: Math.ceil(height) };
    if (told === JSON.stringify(params)) return;
    told = JSON.stringify(params);
    send({ method: 'ui/notifications/size-changed', params });
  };
  new ResizeObserver(tell).observe(document.body);
}

/**
 * Connects to the host. Returns whether there is one.
 *
 * @param {object} wanted What is done for `context`, `input`, `result` and `cancelled`: functions
 * of the parameters of the message.
 */
export function connect(wanted) {
  if (host === window) return false;
  Object.assign(handlers, wanted);
  addEventListener('message', receive);
  send({
    id: first, method: 'ui/initialize',
    params: {
      protocolVersion: version, appInfo: { name: 'holdfast-charts', version: '1' },
      appCapabilities: { availableDisplayModes: ['inline', 'fullscreen'] },
    },
  });
  return true;
}

/** Shows the page in the theme of the host, which may differ from that of the device. */
export function useTheme(theme) {
  if (theme !== 'light' && theme !== 'dark') return;
  document.documentElement.style.colorScheme = theme;
  for (const { cssRules } of document.styleSheets) {
    for (const rule of cssRules) {
      if (rule.media?.mediaText.includes('prefers-color-scheme: dark')) themes.add(rule.media);
    }
  }
  for (const media of themes) media.mediaText = theme === 'dark' ? 'screen' : 'not all';
}

/** The conditions of the styles for the dark. */
const themes = new Set();
