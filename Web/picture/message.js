// Messages about traces that cannot be read, and the progress of reading.

import { byId, make } from '../shared/elements.js';

/** Shows sentences above the picture; none removes them. */
export function showMessages(sentences) {
  const box = byId('message');
  box.replaceChildren(...sentences.map(sentence => make('p', {}, sentence)));
  box.hidden = !sentences.length;
}

/** Shows how much of a trace has been read, as a share from 0 to 1. */
export function showProgress(share) {
  const box = byId('message');
  const bar = box.querySelector('progress');
  if (bar) {
    bar.value = share;
    return;
  }
  const words = make('label', {}, 'The trace is being unpacked. ',
    make('progress', { max: 1, value: share, 'aria-label': 'Unpacked' }));
  box.replaceChildren(make('p', {}, words));
  box.hidden = false;
}
