// Light and dark, and print.

import { usePaper } from './board.js';
import { byId } from '../shared/elements.js';
import { changed } from './state.js';

const root = document.documentElement;
const dark = matchMedia('(prefers-color-scheme: dark)');
const forced = matchMedia('(forced-colors: active)');
/** The width of the lanes on a landscape page, that of their names, and the height of the page. */
const paper = { width: 930, left: 104, height: 718 };

function toggle() {
  const isDark = root.dataset.theme ? root.dataset.theme === 'dark' : dark.matches;
  root.dataset.theme = isDark ? 'light' : 'dark';
  changed('colors');
}

/** The theme before the page was printed; `undefined` while it is not. */
let before;

function beginPrint() {
  before = root.dataset.theme ?? '';
  root.dataset.theme = 'light';
  changed('colors');
  usePaper(paper);
}

function endPrint() {
  if (before) root.dataset.theme = before;
  else delete root.dataset.theme;
  usePaper(null);
  changed('colors');
}

/** Follows the colors that the person chooses, and prints in the light theme. */
export function startTheme() {
  byId('theme').addEventListener('click', toggle);
  for (const query of [dark, forced]) query.addEventListener('change', () => changed('colors'));
  addEventListener('beforeprint', beginPrint);
  addEventListener('afterprint', endPrint);
}
