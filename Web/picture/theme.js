// Light and dark, and print.

import { usePaper } from './board.js';
import { changed } from './state.js';
import { dark, startThemeButton } from '../shared/theme.js';

const root = document.documentElement;
const forced = matchMedia('(forced-colors: active)');
/** The width of the lanes on a landscape page, that of their names, and the height of the page. */
const paper = { width: 930, left: 104, height: 718 };

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
  startThemeButton(() => changed('colors'));
  for (const query of [dark, forced]) query.addEventListener('change', () => changed('colors'));
  addEventListener('beforeprint', beginPrint);
  addEventListener('afterprint', endPrint);
}
