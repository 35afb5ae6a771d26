// Elements are created by functions and text nodes: no string becomes HTML, so that
// content of objects remains text.

const svgTags = new Set(['svg', 'path', 'polyline', 'line', 'circle']);

// h creates an element. Attributes that start with "on" are listeners; null and false
// children and attributes are omitted.
export function h(tag, attributes, ...children) {
  const e = svgTags.has(tag) ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) e.addEventListener(name.slice(2), value);
    else if (name === 'value' || name === 'checked' || name === 'disabled') e[name] = value;
    else e.setAttribute(name, value === true ? '' : value);
  }
  e.append(...flat(children));
  return e;
}

function flat(children) {
  return children.flat(Infinity).filter(c => c !== null && c !== undefined && c !== false);
}

// fill replaces the content of an element.
export function fill(e, ...children) {
  e.replaceChildren(...flat(children));
  return e;
}

export function link(href, ...children) { return h('a', { href }, ...children); }

// button returns a button with an action; it shows errors of the action.
export function button(label, onclick, attributes) {
  return h('button', { type: 'button', onclick, ...attributes }, label);
}

export function field(label, input) { return h('label', { class: 'field' }, h('span', null, label), input); }

// failure returns an element with an error.
export function failure(err) {
  return h('div', { class: 'note bad', role: 'alert' }, err.message || String(err));
}

export function note(...children) { return h('div', { class: 'note' }, ...children); }

// table returns a plain table for few rows.
export function table(columns, rows, caption) {
  return h('div', { class: 'scroll' }, h('table', null, caption ? h('caption', { class: 'hidden' }, caption) : null,
    h('thead', null, h('tr', null, columns.map(c => h('th', { scope: 'col' }, c)))),
    h('tbody', null, rows.map(r => h('tr', null, r.map(c => h('td', null, c)))))));
}

// ago returns the time since a time, in the format of kubectl.
export function ago(time) {
  const s = Math.max(0, Math.floor((Date.now() - Date.parse(time)) / 1000));
  if (Number.isNaN(s)) return '';
  if (s < 120) return `${s}s`;
  if (s < 600) return `${Math.floor(s / 60)}m${s % 60 ? `${s % 60}s` : ''}`;
  if (s < 10800) return `${Math.floor(s / 60)}m`;
  if (s < 172800) return `${Math.floor(s / 3600)}h`;
  return `${Math.floor(s / 86400)}d`;
}

export function bytes(n) {
  if (!(n >= 0)) return '–';
  for (const unit of ['B', 'KiB', 'MiB', 'GiB']) {
    if (n < 1024 || unit === 'GiB') return `${n < 10 && unit !== 'B' ? n.toFixed(1) : Math.round(n)} ${unit}`;
    n /= 1024;
  }
}
