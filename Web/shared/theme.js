// Light and dark.

import { byId } from './elements.js';

const root = document.documentElement;
/** Whether the system is dark. */
export const dark = matchMedia('(prefers-color-scheme: dark)');

/** Lets the page's button switch between light and dark, and calls a function after each switch. */
export function startThemeButton(then = () => {}) {
  byId('theme').addEventListener('click', () => {
    const isDark = root.dataset.theme ? root.dataset.theme === 'dark' : dark.matches;
    root.dataset.theme = isDark ? 'light' : 'dark';
    then();
  });
}
