// The page that shows why a link was lost and how it came back.

import { startAddress } from './address.js';
import { lanes, startBoard } from './board.js';
import { startKeys } from './keys.js';
import { fillLegend } from './legend.js';
import { startLinks } from './links.js';
import { startLive } from './live.js';
import { loadPage, startDrop } from './load.js';
import { startMoments } from './momentlist.js';
import { startNow } from './now.js';
import { startPointer } from './pointer.js';
import { startPolicy } from './policy.js';
import { startSearch } from './search.js';
import { model, on, state } from './state.js';
import { startTable } from './table.js';
import { startTheme } from './theme.js';
import { pan, show, view, zoom } from './view.js';

// The order is that in which a change reaches the parts: the legend's height is part of a layout.
startLinks();
on('link', () => fillLegend(model()));
on('grown', () => fillLegend(model()));
startBoard();
startMoments();
startNow();
startSearch();
startTable();
startPolicy();
startPointer();
startKeys();
startTheme();
startAddress();
if (!startLive()) {
  startDrop();
  loadPage();
}

/** The parts of the page that tests measure and drive. */
window.picture = { lanes, pan, show, state, view, zoom };
