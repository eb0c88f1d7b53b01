// The period that is shown, and the address that keeps it.

import { dayNumber, dayText, rangeText } from './dates.js';

/** The period makes no sense. */
export class Unfit extends Error {}

/** The most days of a period: ten years. */
export const mostDays = 3653;

/** The period: the last `days` up to `to`, or up to the newest sample if `to` is `null`. */
export const period = {
  days: 30,
  to: null,
  /** The types that were chosen in addition to the usual ones. */
  more: [],
};

/** Returns the days that are shown, given the newest and the first day with samples. */
export function shownDays({ newest, first }) {
  const to = period.to ?? newest;
  const days = period.days === 'all' ? clampDays(to - first + 1) : period.days;
  const from = to - days + 1;
  // Of very long periods, the one before is not asked for.
  return { from, to, before: days <= 400 ? from - days : null };
}

const clampDays = days => Math.min(mostDays, Math.max(1, days));

/** Moves the period by its own length, but not past the newest day. */
export function step(direction, shown, newest) {
  const days = shown.to - shown.from + 1;
  const to = shown.to + direction * days;
  period.days = days;
  period.to = direction > 0 && to >= newest ? null : to;
  keep();
}

/** Reads the period of the address. */
export function readAddress() {
  const fields = new URLSearchParams(location.hash.slice(1));
  const days = fields.get('days');
  const to = dayNumber(fields.get('to') ?? '');
  period.days = days === 'all' ? 'all' : clampDays(Math.round(Number(days)) || 30);
  period.to = Number.isFinite(to) ? to : null;
  period.more = (fields.get('more') ?? '').split(',').filter(Boolean);
}

/** Writes the period into the address, so that a reload and a bookmark show it again. */
export function keep() {
  const fields = new URLSearchParams();
  if (period.days !== 30) fields.set('days', period.days);
  if (period.to !== null) fields.set('to', dayText(period.to));
  if (period.more.length) fields.set('more', period.more.join(','));
  const text = fields.toString().replace(/%2C/g, ',');
  history.replaceState(null, '', text ? `#${text}` : location.pathname);
}

/** Forgets the period of the person who leaves. */
export function resetPeriod() {
  Object.assign(period, { days: 30, to: null, more: [] });
  keep();
}

/** Returns the words of the days that are shown. */
export const periodText = ({ from, to }) => rangeText(from, to);
