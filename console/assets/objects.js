// A table of the objects of a kind: rendered by the server, a page at a time, and updated by
// a watch. The document contains only visible rows, however many there are.
import { h, fill, field, note, ago, link } from './dom.js';
import { get, follow, asTable } from './api.js';
import { find, discover, pathOf, objectHref, apiVersion, groups } from './discovery.js';

const rowHeight = 28, page = 500, spare = 12;
const most = 100000; // rows that a page keeps

export async function objects(root, [groupName, version, resource], query, signal) {
  const group = groupName === 'core' ? '' : groupName;
  let r = find(group, version, resource);
  if (!r) { await discover(); r = find(group, version, resource); }
  if (!r) { root.append(note(`The server has no ${resource} in ${groupName}/${version}.`)); return; }
  const grid = new Grid(r, query.get('ns'));
  const go = change => {
    const next = new URLSearchParams(query);
    for (const [k, v] of Object.entries(change)) if (v) next.set(k, v); else next.delete(k);
    location.hash = `${location.hash.split('?')[0]}?${next}`;
  };
  const ns = h('input', { type: 'text', value: query.get('ns') ?? '', placeholder: 'all', list: 'namespaces', size: '14', onchange: e => go({ ns: e.target.value.trim() }) });
  const labels = h('input', { type: 'text', value: query.get('l') ?? '', placeholder: 'app=web', size: '18', onchange: e => go({ l: e.target.value.trim() }) });
  const fields = h('input', { type: 'text', value: query.get('f') ?? '', placeholder: 'metadata.name=…', size: '18', onchange: e => go({ f: e.target.value.trim() }) });
  const filter = h('input', { type: 'search', id: 'filter', placeholder: 'Filter what is here', size: '20', 'aria-label': 'Filter', oninput: () => grid.narrow(filter.value) });
  const others = groups.find(g => g.name === group)?.versions.filter(v => v.name !== version && v.resources.some(o => o.resource === resource)) ?? [];
  root.append(h('div', { class: 'bar' },
    r.namespaced ? field('Namespace', ns) : null, h('datalist', { id: 'namespaces' }), field('Labels', labels), field('Fields', fields), filter,
    h('span', { class: 'spacer' }), grid.state,
    others.map(v => link(`#/r/${groupName}/${v.name}/${resource}`, v.name)),
    link(`#/schema/${groupName}/${version}/${r.kind}`, 'Schema'),
    r.verbs.includes('create') ? link(`#/new?${new URLSearchParams({ gv: apiVersion(r), kind: r.kind, ns: query.get('ns') ?? (r.namespaced ? 'default' : '') })}`, 'New') : null),
  grid.element);
  grid.resize(signal);
  if (r.namespaced) suggestNamespaces(signal);
  await load(grid, r, query, signal);
}

async function suggestNamespaces(signal) {
  const list = await get('/api/v1/namespaces?limit=500', { accept: asTable, signal }).catch(() => null);
  const all = document.querySelector('#namespaces');
  if (list && all) fill(all, (list.rows ?? []).map(row => h('option', { value: row.object.metadata.name })));
}

function load(grid, r, query, signal) {
  const selectors = new URLSearchParams();
  if (query.get('l')) selectors.set('labelSelector', query.get('l'));
  if (query.get('f')) selectors.set('fieldSelector', query.get('f'));
  const path = pathOf(r, query.get('ns'));
  const list = async () => {
    let more = '', revision = '';
    grid.begin();
    do {
      const q = new URLSearchParams(selectors);
      q.set('limit', String(page));
      if (more) q.set('continue', more);
      const t = await get(`${path}?${q}`, { accept: asTable, signal });
      if (signal.aborted) return '';
      grid.columns(t.columnDefinitions);
      for (const row of t.rows ?? []) grid.set(row);
      more = t.metadata?.continue ?? '';
      revision = t.metadata?.resourceVersion ?? '';
      grid.loading(more ? t.metadata.remainingItemCount : 0);
    } while (more && grid.rows.size < most);
    grid.loaded();
    const q = new URLSearchParams(selectors);
    q.set('watch', '1');
    q.set('allowWatchBookmarks', 'true');
    q.set('resourceVersion', revision);
    return `${path}?${q}`;
  };
  if (!r.verbs.includes('watch')) return list();
  return follow(list, asTable, signal, event => grid.event(event), err => { if (err.code !== 410) grid.failed(err); });
}

// Grid shows the rows of a Table.
class Grid {
  constructor(r, namespace) {
    this.resource = r;
    this.namespace = namespace;
    this.rows = new Map(); // by uid
    this.seen = null;
    this.shown = [];
    this.text = '';
    this.sort = null;
    this.at = -1;
    this.pending = false;
    this.fresh = new Map(); // uids that just changed
    this.state = h('span', { class: 'dim', role: 'status', id: 'state' }, 'loading');
    this.head = h('div', { class: 'row head', role: 'row' });
    this.body = h('div', { class: 'rows', role: 'rowgroup' });
    this.element = h('div', { class: 'grid', role: 'grid', tabindex: '0', 'aria-label': r.resource, onscroll: () => this.draw(), onkeydown: e => this.key(e) },
      h('div', { role: 'rowgroup', class: 'sticky' }, this.head), this.body);
  }

  resize(signal) {
    const observer = new ResizeObserver(() => this.draw());
    observer.observe(this.element);
    const ages = setInterval(() => this.draw(), 10000);
    signal.addEventListener('abort', () => { observer.disconnect(); clearInterval(ages); });
  }

  begin() { this.seen = new Set(); }

  loading(left) { fill(this.state, left ? `${this.rows.size} loaded, ${left} to come` : `${this.rows.size}`); }

  loaded() {
    for (const uid of this.rows.keys()) if (!this.seen.has(uid)) this.rows.delete(uid);
    this.seen = null;
    this.changed();
  }

  failed(err) { fill(this.state, h('span', { class: 'bad-text' }, err.message)); }

  columns(definitions) {
    if (!definitions?.length || this.definitions) return;
    this.definitions = definitions.map((c, i) => ({ name: c.name, index: i, priority: c.priority, description: c.description })).filter(c => c.priority === 0);
    if (this.resource.namespaced && !this.namespace) this.definitions.unshift({ name: 'Namespace', index: -1 });
    this.element.style.setProperty('--columns', String(this.definitions.length));
    this.element.style.setProperty('--template', this.definitions.map(c => (c.index === 0 ? 'minmax(160px, 2fr)' : 'minmax(90px, 1fr)')).join(' '));
    fill(this.head, this.definitions.map((c, i) => h('button', { type: 'button', role: 'columnheader', class: 'cell', title: c.description ?? '', onclick: () => this.order(i) }, c.name)));
    this.changed();
  }

  set(row) {
    const m = row.object.metadata;
    this.rows.set(m.uid, row);
    this.seen?.add(m.uid);
    this.changed();
  }

  event({ type, object: t }) {
    if (type === 'BOOKMARK') return;
    this.columns(t.columnDefinitions);
    for (const row of t.rows ?? []) {
      if (type === 'DELETED') this.rows.delete(row.object.metadata.uid);
      else {
        this.set(row);
        this.fresh.set(row.object.metadata.uid, performance.now());
      }
    }
    this.changed();
  }

  narrow(text) { this.text = text.trim().toLowerCase(); this.element.scrollTop = 0; this.changed(); }

  order(i) {
    this.sort = this.sort?.column === i ? { column: i, down: !this.sort.down } : { column: i, down: false };
    [...this.head.children].forEach((e, n) => {
      if (n === i) e.setAttribute('aria-sort', this.sort.down ? 'descending' : 'ascending'); else e.removeAttribute('aria-sort');
    });
    this.changed();
  }

  // changed schedules one redraw for the next frame.
  changed() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.arrange();
      this.draw();
      if (!this.seen) this.loading(0);
    });
  }

  arrange() {
    const chosen = this.shown[this.at]?.object.metadata.uid;
    let all = [...this.rows.values()];
    if (this.text) all = all.filter(row => `${row.object.metadata.namespace ?? ''} ${row.cells.join(' ')}`.toLowerCase().includes(this.text));
    if (this.sort) {
      const c = this.definitions[this.sort.column], sign = this.sort.down ? -1 : 1;
      const value = row => (c.name === 'Age' ? -Date.parse(row.object.metadata.creationTimestamp) : this.raw(row, c));
      const compare = new Intl.Collator(undefined, { numeric: true }).compare;
      all.sort((a, b) => {
        const x = value(a), y = value(b);
        return sign * (typeof x === 'number' && typeof y === 'number' ? x - y : compare(String(x), String(y)));
      });
    }
    this.shown = all;
    this.at = chosen ? all.findIndex(row => row.object.metadata.uid === chosen) : -1;
  }

  raw(row, c) { return c.index < 0 ? row.object.metadata.namespace ?? '' : row.cells[c.index] ?? ''; }

  cell(row, c) {
    const m = row.object.metadata;
    if (c.index === 0) return h('a', { href: objectHref(this.resource, m.namespace, m.name), tabindex: '-1' }, m.name);
    if (c.name === 'Age' && m.creationTimestamp) return ago(m.creationTimestamp);
    const v = this.raw(row, c);
    return typeof v === 'object' ? JSON.stringify(v) : String(v);
  }

  draw() {
    if (!this.definitions) return;
    const first = Math.max(0, Math.floor(this.element.scrollTop / rowHeight) - spare);
    const last = Math.min(this.shown.length, Math.ceil((this.element.scrollTop + this.element.clientHeight) / rowHeight) + spare);
    this.body.style.height = `${this.shown.length * rowHeight}px`;
    this.element.setAttribute('aria-rowcount', String(this.shown.length + 1));
    const now = performance.now();
    const rows = [];
    for (let i = first; i < last; i++) {
      const row = this.shown[i], uid = row.object.metadata.uid;
      const fresh = now - (this.fresh.get(uid) ?? -1e9) < 2000;
      const e = h('div', { class: `row${fresh ? ' fresh' : ''}`, role: 'row', 'aria-rowindex': String(i + 2), 'aria-selected': i === this.at ? 'true' : null, onclick: () => this.choose(i), ondblclick: () => this.open(i) },
        this.definitions.map(c => h('div', { class: 'cell', role: 'gridcell', title: String(this.raw(row, c)) }, this.cell(row, c))));
      e.style.transform = `translateY(${i * rowHeight}px)`;
      rows.push(e);
    }
    fill(this.body, rows.length || this.seen ? rows : h('div', { class: 'empty' }, this.rows.size ? 'Nothing matches the filter.' : `There are no ${this.resource.resource}.`));
    for (const [uid, at] of this.fresh) if (now - at > 2000) this.fresh.delete(uid);
  }

  choose(i) { this.at = i; this.draw(); }

  open(i) {
    const m = this.shown[i]?.object.metadata;
    if (m) location.hash = objectHref(this.resource, m.namespace, m.name);
  }

  key(e) {
    const inSight = Math.max(1, Math.floor(this.element.clientHeight / rowHeight) - 2);
    const moves = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: inSight, PageUp: -inSight, Home: -Infinity, End: Infinity };
    if (e.key === 'Enter' && e.target === this.element) { this.open(this.at); return; }
    if (!(e.key in moves)) return;
    e.preventDefault();
    this.at = Math.max(0, Math.min(this.shown.length - 1, this.at + moves[e.key]));
    const y = this.at * rowHeight, height = this.element.clientHeight - rowHeight;
    if (y < this.element.scrollTop) this.element.scrollTop = y;
    else if (y + rowHeight > this.element.scrollTop + height) this.element.scrollTop = y + rowHeight - height;
    this.draw();
  }
}
