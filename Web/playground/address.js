// The settings in the address, so that a link opens the same run.

import { causes, playable, rules, usual } from './settings.js';

const isNumber = text => /^\d+$/.test(text);

/** Returns the settings of the address; `null` if it has none. */
export function settingsOfAddress() {
  const found = new URLSearchParams(location.hash.slice(1));
  const policy = found.get('policy');
  if (![...playable(), ...rules()].includes(policy)) return null;
  const settings = { ...usual, policy, changes: {} };
  for (const [name, text] of found) {
    if (name.includes('.')) settings.changes[name] = text;
    else if (name === 'cause' && Object.hasOwn(causes, text)) settings.cause = text;
    else if (name === 'full' && text === 'wait') settings.full = text;
    else if (['outage', 'clients', 'within'].includes(name) && isNumber(text)) {
      settings[name] = Number(text);
    }
  }
  return settings;
}

/** Returns the view of the address: `fleet` or `link`. */
export const viewOfAddress = () =>
  new URLSearchParams(location.hash.slice(1)).get('view') === 'link' ? 'link' : 'fleet';

/** Writes settings and the view into the address. */
export function showAddress(settings, view) {
  const { policy, changes, cause, outage, clients, within, full } = settings;
  const parts = { view, policy, cause, outage, clients, within, full, ...changes };
  history.replaceState(null, '', `#${new URLSearchParams(parts)}`);
}
