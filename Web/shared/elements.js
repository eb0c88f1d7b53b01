// Functions that create elements of the document.

/** Returns the element with an identifier. */
export const byId = name => document.getElementById(name);

/**
 * Creates an HTML element. Texts are inserted as text, never as markup.
 *
 * @param {string} name The name of the element.
 * @param {object} fields Its attributes. `on` contains handlers by the name of their event.
 * @param {...(Node|string|null)} content Its content.
 */
export function make(name, fields = {}, ...content) {
  const element = document.createElement(name);
  const { on = {}, ...attributes } = fields;
  for (const type in on) element.addEventListener(type, on[type]);
  for (const key in attributes) {
    const value = attributes[key];
    if (value === true) element.setAttribute(key, '');
    else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(key, value);
    }
  }
  element.append(...content.filter(part => part !== null && part !== undefined));
  return element;
}

/** Creates an SVG element. */
export function svg(name, attributes = {}, ...content) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  element.append(...content);
  return element;
}
