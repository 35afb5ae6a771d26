// One object: its YAML, which can be edited with a review of the changes, its
// events, owners and managers; and the page that applies pasted YAML.
import { h, fill, field, failure, note, table, ago, button, link } from './dom.js';
import { get, parse, send, watch, asMetadata, enter } from './api.js';
import { find, findKind, discover, pathOf, objectHref, preferred } from './discovery.js';
import { emit, lineOf, valueOf, without, split } from './yaml.js';
import { Editor, errorsOf } from './editor.js';
import { diff, hunks } from './diff.js';

const manager = 'triplane-console';

export async function object(root, [groupName, version, resource, ns, name], query, signal) {
  const group = groupName === 'core' ? '' : groupName;
  let r = find(group, version, resource);
  if (!r) { await discover(); r = find(group, version, resource); }
  if (!r) { root.append(note(`The server has no ${resource} in ${groupName}/${version}.`)); return; }
  const path = pathOf(r, ns === '-' ? '' : ns, name);
  const panels = { YAML: (p, until) => yamlPanel(p, r, path, until), Events: (p, until) => events(p, path, until), Owners: (p, until) => owners(p, path, until), Managers: (p, until) => managers(p, path, until) };
  let shown = new AbortController(); // ends with the panel
  const panel = h('div', { role: 'tabpanel', class: 'panel' });
  const tabs = h('div', { role: 'tablist', class: 'tabs' }, Object.keys(panels).map(t => button(t, () => show(t), { role: 'tab' })));
  const show = chosen => {
    for (const t of tabs.children) t.setAttribute('aria-selected', String(t.textContent === chosen));
    fill(panel);
    shown.abort();
    shown = new AbortController();
    const until = AbortSignal.any([signal, shown.signal]);
    panels[chosen](panel, until).catch(err => { if (!until.aborted) panel.append(failure(err)); });
  };
  const where = link(`#/r/${groupName}/${version}/${resource}${r.namespaced ? `?ns=${encodeURIComponent(ns)}` : ''}`, r.namespaced ? `${resource} in ${ns}` : resource);
  root.append(h('div', { class: 'bar' }, where, h('span', { class: 'dim' }, '/'), h('b', null, name), h('span', { class: 'spacer' }),
    group === 'workspaces.triplane.dev' ? button('Enter', () => enter(name), { id: 'enter', class: 'primary' }) : null, tabs), panel);
  show('YAML');
}

// shownOf returns an object as the editor shows it.
function shownOf(o) {
  const { apiVersion, kind, metadata: { managedFields, ...metadata }, ...rest } = o;
  return emit({ apiVersion, kind, metadata, ...rest });
}

async function yamlPanel(root, r, path, signal) {
  let current = await get(path, { signal });
  let shown = shownOf(current);
  const editor = new Editor(shown, 'YAML');
  const result = h('div', { class: 'result', 'aria-live': 'polite' });
  const stale = h('span', { class: 'tag', hidden: true });
  const way = h('select', { 'aria-label': 'How to write' }, h('option', { value: 'replace' }, 'Replace'), h('option', { value: 'apply' }, 'Server-side apply'));
  const force = h('input', { type: 'checkbox' });
  const attempt = async dry => {
    fill(result);
    editor.clear();
    try {
      const after = await write(path, editor.text, way.value, force.checked, dry);
      if (dry) { fill(result, difference(shown, shownOf(after))); return; }
      current = after;
      shown = editor.text = shownOf(after);
      stale.hidden = true;
      fill(result, h('div', { class: 'note good' }, `Written, revision ${after.metadata.resourceVersion}.`));
    } catch (err) { fill(result, failure(err)); editor.mark(errorsOf(err)); }
  };
  const reload = async () => { current = await get(path, { signal }); shown = editor.text = shownOf(current); stale.hidden = true; fill(result); };
  root.append(h('div', { class: 'bar' }, way, field('Force', force), button('Review', () => attempt(true), { id: 'review' }), button('Save', () => attempt(false), { id: 'save', class: 'primary' }),
    button('Reload', () => reload().catch(err => fill(result, failure(err)))), stale, h('span', { class: 'spacer' }),
    r.verbs.includes('delete') ? button('Delete…', () => confirmDelete(result, path, current), { class: 'danger' }) : null), result, editor.element);
  if (r.verbs.includes('watch')) follow(path, r, current, signal, event => {
    if (event.object.metadata.resourceVersion === current.metadata.resourceVersion) return;
    if (event.type === 'DELETED') { stale.textContent = 'deleted'; stale.hidden = false; return; }
    if (editor.text === shown) { current = event.object; shown = editor.text = shownOf(current); return; }
    stale.textContent = `changed meanwhile, revision ${event.object.metadata.resourceVersion}`;
    stale.hidden = false;
  });
}

function follow(path, r, o, signal, f) {
  const list = pathOf(r, o.metadata.namespace);
  const q = new URLSearchParams({ watch: '1', fieldSelector: `metadata.name=${o.metadata.name}`, resourceVersion: o.metadata.resourceVersion });
  watch(`${list}?${q}`, 'application/json', signal, f).catch(() => {}); // reloading shows it then
}

async function write(path, text, way, force, dry) {
  const q = new URLSearchParams({ fieldManager: manager, fieldValidation: 'Strict' });
  if (dry) q.set('dryRun', 'All');
  if (way === 'replace') return parse(await (await send(`${path}?${q}`, { method: 'PUT', type: 'application/yaml', body: text })).text());
  if (force) q.set('force', 'true');
  const body = without(text, ['status', ...['uid', 'resourceVersion', 'generation', 'creationTimestamp', 'managedFields', 'selfLink'].map(f => `metadata.${f}`)]);
  return parse(await (await send(`${path}?${q}`, { method: 'PATCH', type: 'application/apply-patch+yaml', body })).text());
}

function difference(before, after) {
  const lines = hunks(diff(before, after).filter(([m, l]) => m === ' ' || !/^  (resourceVersion|generation): /.test(l)));
  if (!lines.length) return note('Nothing would change.');
  const marks = { '+': 'added', '-': 'removed', ' ': '' };
  return h('pre', { class: 'diff', 'aria-label': 'What would change' }, lines.map(l => (l ? h('span', { class: marks[l[0]] }, `${l[0]} ${l[1]}\n`) : h('span', { class: 'gap' }, '⋯\n'))));
}

function confirmDelete(result, path, o) {
  const go = async () => {
    try {
      await send(path, { method: 'DELETE', body: JSON.stringify({ apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: o.metadata.uid } }) });
      history.back();
    } catch (err) { fill(result, failure(err)); }
  };
  fill(result, h('div', { class: 'note bad' }, `Delete ${o.kind} ${o.metadata.name}? `, button('Delete', go, { class: 'danger' }), ' ', button('Keep', () => fill(result))));
  result.querySelector('button').focus();
}

async function events(root, path, signal) {
  const o = await get(path, { signal });
  const r = find('', 'v1', 'events');
  const q = new URLSearchParams({ fieldSelector: `involvedObject.uid=${o.metadata.uid}`, limit: '200' });
  const list = await get(`${pathOf(r, o.metadata.namespace ?? 'default')}?${q}`, { signal });
  if (!list.items.length) { root.append(note('There are no events of this object.')); return; }
  const time = e => e.lastTimestamp ?? e.eventTime ?? e.metadata.creationTimestamp;
  const sorted = list.items.sort((a, b) => Date.parse(time(b)) - Date.parse(time(a)));
  root.append(table(['Last seen', 'Type', 'Reason', 'Count', 'From', 'Message'],
    sorted.map(e => [ago(time(e)), e.type, e.reason, String(e.count ?? e.series?.count ?? 1), e.source?.component ?? e.reportingComponent ?? '', e.message])));
}

function nodeOf(kind, group, r, ns, name, ...more) {
  return [h('span', { class: 'dim' }, group ? `${kind}.${group}` : kind), ' ', r ? link(objectHref(r, ns, name), name) : name, ...more];
}

// owners shows the owners of an object and its dependents.
async function owners(root, path, signal) {
  const o = await get(path, { signal });
  const above = h('ul', { class: 'tree' }), below = h('div');
  root.append(h('h2', null, 'Owners'), above, h('h2', null, 'Dependents'), button('Look for dependents', () => dependents(below, o, signal).catch(err => fill(below, failure(err)))), below);
  await climb(above, o, signal, 0);
  if (!above.childElementCount) above.append(h('li', { class: 'dim' }, 'none'));
}

async function climb(list, o, signal, depth) {
  for (const ref of o.metadata.ownerReferences ?? []) {
    const r = findKind(ref.apiVersion, ref.kind), next = h('ul', { class: 'tree' });
    const group = ref.apiVersion.includes('/') ? ref.apiVersion.split('/')[0] : '';
    list.append(h('li', null, nodeOf(ref.kind, group, r, o.metadata.namespace, ref.name, ref.controller ? h('span', { class: 'tag' }, 'controller') : ''), next));
    if (!r || depth > 8) continue;
    const owner = await get(pathOf(r, o.metadata.namespace, ref.name), { signal }).catch(() => null);
    if (owner?.metadata.uid === ref.uid) await climb(next, owner, signal, depth + 1);
    else next.append(h('li', { class: 'bad-text' }, 'is not there, or you may not see it'));
  }
}

async function dependents(root, o, signal) {
  fill(root, note('Looking…'));
  const kinds = preferred().filter(r => r.verbs.includes('list') && (r.namespaced || !o.metadata.namespace) && r.resource !== 'events');
  const found = [];
  let cut = 0;
  const look = async r => {
    const list = await get(`${pathOf(r, o.metadata.namespace)}?limit=1000`, { accept: asMetadata, signal }).catch(() => null);
    if (list?.metadata.continue) cut++;
    for (const item of list?.items ?? []) if (item.metadata.ownerReferences?.some(ref => ref.uid === o.metadata.uid)) found.push([r, item]);
  };
  const queue = [...kinds];
  await Promise.all(Array.from({ length: 6 }, async () => { while (queue.length) await look(queue.shift()); }));
  fill(root, found.length ? h('ul', { class: 'tree' }, found.map(([r, item]) => h('li', null, nodeOf(r.kind, r.group, r, item.metadata.namespace, item.metadata.name)))) : note('No object that you may see belongs to this one.'),
    cut ? note(`Of ${cut} kinds only the first 1000 objects were looked at.`) : null);
}

async function managers(root, path, signal) {
  const o = await get(path, { signal });
  const entries = o.metadata.managedFields ?? [];
  if (!entries.length) { root.append(note('Nobody manages fields of this object.')); return; }
  for (const m of entries) {
    root.append(h('details', null, h('summary', null, h('b', null, m.manager), ` ${m.operation} `, h('span', { class: 'dim' }, `${m.apiVersion} ${m.subresource ?? ''} ${m.time ? `${ago(m.time)} ago` : ''}`)),
      h('pre', null, fieldsOf(m.fieldsV1 ?? {}, '').join('\n'))));
  }
}

// fieldsOf returns the paths of a set of fields.
function fieldsOf(set, above) {
  return Object.entries(set).flatMap(([k, below]) => {
    if (k === '.') return above ? [above] : [];
    const path = k.startsWith('f:') ? (above ? `${above}.${k.slice(2)}` : k.slice(2)) : `${above}[${k.slice(2)}]`;
    return Object.keys(below).length ? fieldsOf(below, path) : [path];
  });
}

// create applies pasted documents one after the other.
export async function create(root, _path, query) {
  const kind = query.get('kind'), ns = query.get('ns');
  const text = kind ? emit({ apiVersion: query.get('gv'), kind, metadata: { name: 'new', ...(ns ? { namespace: ns } : {}) }, ...(kind === 'ConfigMap' ? { data: { key: 'value' } } : { spec: {} }) }) : '';
  const editor = new Editor(text, 'YAML to apply');
  const result = h('div', { class: 'result', 'aria-live': 'polite' });
  const run = async dry => {
    fill(result);
    editor.clear();
    let offset = 0;
    for (const doc of split(editor.text)) {
      const line = editor.text.slice(0, editor.text.indexOf(doc, offset)).split('\n').length - 1;
      offset = editor.text.indexOf(doc, offset) + doc.length;
      try {
        const o = await applyOne(doc, dry);
        const r = findKind(o.apiVersion, o.kind);
        result.append(h('div', { class: 'note good' }, `${o.kind} `, r && !dry ? link(objectHref(r, o.metadata.namespace, o.metadata.name), o.metadata.name) : o.metadata.name, dry ? ' would be applied' : ' applied'));
      } catch (err) {
        result.append(failure(err));
        editor.mark(errorsOf(err).map(e => ({ line: line + (e.line ?? lineOf(doc, e.field)), message: e.message })));
        return;
      }
    }
  };
  root.append(h('div', { class: 'bar' }, h('span', { class: 'dim' }, 'Server-side apply, as ', h('code', null, manager)), h('span', { class: 'spacer' }), button('Review', () => run(true), { id: 'review' }), button('Apply', () => run(false), { id: 'save', class: 'primary' })), result, editor.element);
  editor.area.focus();
}

async function applyOne(text, dry) {
  const version = valueOf(text, 'apiVersion'), kind = valueOf(text, 'kind');
  const name = valueOf(text, 'metadata.name') || /^metadata:\s*\{.*?\bname:\s*["']?([^,"'}\s]+)/m.exec(text)?.[1];
  const ns = valueOf(text, 'metadata.namespace') || /^metadata:\s*\{.*?\bnamespace:\s*["']?([^,"'}\s]+)/m.exec(text)?.[1];
  if (!version || !kind || !name) throw new Error('a document needs apiVersion, kind and metadata.name');
  let r = findKind(version, kind);
  if (!r) { await discover(); r = findKind(version, kind); }
  if (!r) throw new Error(`the server has no ${kind} in ${version}`);
  return write(pathOf(r, r.namespaced ? ns || 'default' : '', name), text, 'apply', false, dry);
}
