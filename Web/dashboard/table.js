// Tables of numbers.

import { make } from '../shared/elements.js';

/** The rows that a table shows at first. */
const firstRows = 100;

/** Returns a table that scrolls by itself. `texts` are the places of columns without numbers. */
export function table(name, heads, rows, texts = []) {
  const row = cells => make('tr', {}, ...cells.map((cell, place) => place
    ? make('td', { class: texts.includes(place) ? 'text' : null }, cell ?? '–')
    : make('th', { scope: 'row' }, cell)));
  const body = make('tbody', {}, ...rows.slice(0, firstRows).map(row));
  const box = make('div', { class: 'wide', tabindex: 0, role: 'region', 'aria-label': name },
    make('table', {},
      make('thead', {}, make('tr', {}, ...heads.map((head, place) =>
        make('th', { scope: 'col', class: texts.includes(place) ? 'text' : null }, head)))),
      body));
  const left = rows.length - firstRows;
  if (left <= 0) return box;
  const more = make('button', {
    type: 'button',
    on: {
      click: () => {
        body.append(...rows.slice(firstRows).map(row));
        more.remove();
        box.focus();
      },
    },
  }, `Show ${left.toLocaleString('en')} more`);
  return make('div', {}, box, more);
}

/** Returns an element with numbers, which are made when it is opened. */
export function numbers(name, heads, rows) {
  const details = make('details', {}, make('summary', {}, 'Numbers'));
  details.addEventListener('toggle', () => {
    if (!details.open || details.children.length > 1) return;
    details.append(table(name, heads, rows()));
  });
  return details;
}
