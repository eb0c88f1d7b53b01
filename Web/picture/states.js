// The states of a link, and those of the app and of the network path.

/**
 * The states of a link in a trace, and `waiting`, which is a link with a time for its next attempt.
 *
 * `level` is the height of a state in the picture: 1 is connected.
 */
export const linkStates = new Map(Object.entries({
  connected: { level: 1, color: 'ok', name: 'connected' },
  standby: { level: 0.56, color: 'poll', name: 'polling' },
  reconnecting: { level: 0.34, color: 'try', name: 'reconnecting' },
  connecting: { level: 0.34, color: 'try', name: 'connecting' },
  waiting: { level: 0.2, color: 'try', name: 'waiting for the next attempt' },
  held: { level: 0.08, color: 'rest', name: 'resting' },
  idle: { level: 0.03, color: 'rest', name: 'not connected' },
  failed: { level: 0.03, color: 'bad', name: 'failed' },
}));

/** Returns whether an attempt is running or due in a state. */
export const isTrying = state => state === 'connecting' || state === 'reconnecting';

/** The values of the app in a trace: their words, and whether the app works in them. */
export const appStates = new Map(Object.entries({
  foreground: { name: 'foreground', now: 'in the foreground', isActive: true },
  launched: { name: 'running', now: 'the app runs', isActive: true },
  background: { name: 'background', now: 'in the background' },
  suspended: { name: 'suspended', now: 'the app is suspended' },
  killed: { name: 'not running', now: 'the app does not run' },
}));

/** Returns whether a path of the network leads to no server. */
export const isBlocked = path => path === 'none' || path === 'login page';

/** Returns the words of a path of the network. */
export function pathWords(path) {
  if (path === 'none') return 'no network';
  return path === 'login page' ? 'login page' : `network ${path}`;
}

/** A message is late if it was fetched or polled, or shown more than these seconds after it. */
export const lateAfter = 5;

/** Returns whether a way in which a message was shown is that of a late one. */
export const isLate = way => way === 1 || way === 2;
