// Light and dark.

import { byId } from '../shared/elements.js';

/** Switches between light and dark. */
export function startTheme() {
  const root = document.documentElement;
  byId('theme').addEventListener('click', () => {
    const isDark = root.dataset.theme ? root.dataset.theme === 'dark'
      : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = isDark ? 'light' : 'dark';
  });
}
