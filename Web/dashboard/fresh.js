// How new the data are, and what to do if they are not.

import { agoText, dayOf, momentText, plainDay } from './dates.js';
import { countText } from './figures.js';
import { sleepType } from './kinds.js';

const day = 86400000;

const since = (time, now) => Date.parse(now) - Date.parse(time);

/** Returns the line about the newest sample. */
export function newestText({ newest, now }) {
  if (newest === null) return 'No samples yet.';
  return `Newest sample ${momentText(newest)}, ${agoText(newest, now)}.`;
}

/** Returns what the person can do to see newer data; an empty text if the data are new. */
export function adviceText(summary) {
  const { newest, lastSync, now, unfinishedUploads: uploads } = summary;
  if (newest === null) {
    return 'Open the app on the phone and allow it to read health data; or send an export with '
      + '“holdfast health import” and “holdfast health sync”.';
  }
  const waiting = uploads ? `${countText(uploads, 'upload')} from the phone ${uploads === 1
    ? 'is' : 'are'} unfinished; ${uploads === 1 ? 'it goes' : 'they go'} on when the phone has a `
    + 'connection. ' : '';
  if (since(newest, now) < 2 * day) return waiting.trim();
  const isSynced = lastSync !== null && since(lastSync, now) < 2 * day;
  if (isSynced) {
    return `${waiting}The phone synced ${agoText(lastSync, now)} and had nothing newer: see `
      + 'whether the watch and the apps still record, and whether the app may still read them.';
  }
  const last = dayOf(lastSync ?? newest);
  return `${waiting}Nothing has come since ${plainDay(last)}: open the app on the phone. Its sync `
    + 'screen, or “holdfast health status”, says what waits and why.';
}

/** Returns the first day that was not over when the phone synced last, by the phone's data. */
export function openDayOf({ newest, lastSync }) {
  const known = [newest, lastSync].filter(time => time !== null);
  if (!known.length) return Infinity;
  return Math.max(...known.map(dayOf));
}

/** The time after the last stage of sleep from which the person is up, in milliseconds. */
const up = 2 * 3600000;

/** Returns the first night that was not over: one of which the phone had no time after it. */
export function openNightOf(summary) {
  const open = openDayOf(summary);
  const asleep = summary.types.find(({ type }) => type === sleepType)?.newest;
  const isUp = [summary.newest, summary.lastSync].some(time => time !== null
    && (dayOf(time) === open && time.slice(11, 13) >= '12'
      || asleep !== undefined && since(asleep, time) >= up));
  return isUp ? open + 1 : open;
}
