// The groups of the API, and their servers: APIServices and definitions, with their
// conditions.
import { h, fill, failure, note, table, link, ago } from './dom.js';
import { get, asTable } from './api.js';
import { groups, onDiscovery, tableHref, objectHref, find } from './discovery.js';

export async function definitions(root, _path, _query, signal) {
  const list = h('div'), services = h('div'), crds = h('div');
  root.append(h('section', null, h('h2', null, 'Groups'), list), h('section', null, h('h2', null, 'External servers'), services), h('section', null, h('h2', null, 'Definitions'), crds));
  const draw = () => {
    fill(list, groupsTable());
    external(services, signal).catch(err => fill(services, failure(err)));
    custom(crds, signal).catch(err => fill(crds, failure(err)));
  };
  signal.addEventListener('abort', onDiscovery(draw));
  draw();
}

function groupsTable() {
  return table(['Group', 'Versions', 'Kinds'], groups.map(g => [h('b', null, g.name || 'core'), g.versions.map(v => h('span', { class: v.stale ? 'tag bad-text' : 'tag', title: v.stale ? 'stale: its server does not answer' : '' }, v.name)),
    h('span', { class: 'kinds' }, g.versions[0]?.resources.map(r => [r.verbs.includes('list') ? link(tableHref(r), r.kind) : h('span', { class: 'dim' }, r.kind), ' ']) ?? [])]));
}

// external requests only the remote ones: there is one for each group version.
async function external(root, signal) {
  const r = find('apiregistration.k8s.io', 'v1', 'apiservices');
  const t = await get('/apis/apiregistration.k8s.io/v1/apiservices', { accept: asTable, signal });
  const at = t.columnDefinitions.map(c => c.name.toLowerCase());
  const rows = (t.rows ?? []).filter(row => row.cells[at.indexOf('service')] !== 'Local')
    .map(row => [link(objectHref(r, '', row.object.metadata.name), row.object.metadata.name), row.cells[at.indexOf('service')], status(row.cells[at.indexOf('available')])]);
  fill(root, rows.length ? table(['APIService', 'Service', 'Available'], rows) : note('All groups are served by this process.'));
}

const status = text => h('span', { class: String(text).startsWith('True') ? 'ok' : 'bad-text' }, text);

// most bounds the definitions whose conditions are fetched, because they include schemas.
const most = 50;

async function custom(root, signal) {
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  const t = await get(path, { accept: asTable, signal });
  const all = (t.rows ?? []).map(row => row.object.metadata);
  if (!all.length) { fill(root, note('There are none. ', link('#/new', 'Apply one'), '.')); return; }
  const r = find('apiextensions.k8s.io', 'v1', 'customresourcedefinitions');
  const rows = all.map(m => {
    const [plural, ...rest] = m.name.split('.');
    const served = groups.find(g => g.name === rest.join('.'))?.versions.some(v => v.resources.some(o => o.resource === plural));
    const conditions = h('span', null, served ? h('span', { class: 'ok' }, 'served') : h('span', { class: 'bad-text' }, 'not served'));
    return { name: m.name, conditions, row: [link(objectHref(r, '', m.name), m.name), ago(m.creationTimestamp), conditions] };
  });
  fill(root, table(['Definition', 'Age', 'Conditions'], rows.map(x => x.row)));
  for (const x of rows.slice(0, most)) {
    const crd = await get(`${path}/${x.name}`, { signal }).catch(() => null); // it may have been deleted
    if (crd) fill(x.conditions, (crd.status?.conditions ?? []).map(c => [h('span', { class: (c.status === 'True') === (c.type !== 'Terminating' && c.type !== 'NonStructuralSchema') ? 'tag ok' : 'tag bad-text', title: c.message ?? '' }, c.status === 'True' ? c.type : `not ${c.type}: ${c.reason}`), ' ']));
  }
}
