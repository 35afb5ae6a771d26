// The chain as a picture, the server that responds to a request, and the status of the server.
import { h, fill, field, failure, note, table, bytes } from './dom.js';
import { get, send } from './api.js';

const roles = {
  filters: ['Filters', 'who asks, as whom, how much, may they'],
  'kube-aggregator': ['Aggregator', 'APIServices, discovery, health'],
  'kube-apiserver': ['Core', 'the built-in kinds'],
  'apiextensions-apiserver': ['Extensions', 'CRDs and custom resources'],
  none: ['404', 'nobody claims it'],
  external: ['External servers', 'of APIServices'],
};
const every = 2000, kept = 60;

export async function overview(page, _path, _query, signal) {
  const picture = h('section', { class: 'chain', 'aria-label': 'The chain of servers' });
  const answer = h('div', { id: 'answer', 'aria-live': 'polite' });
  const figures = h('section', { class: 'figures', 'aria-label': 'Figures' });
  const busiest = h('section', { 'aria-label': 'Busiest resources' });
  page.append(picture, form(answer, picture), answer, figures, busiest);
  let whole;
  try {
    whole = await get('/debug/chain', { signal });
  } catch (err) {
    fill(picture, err.code === 403 ? note('You may not see the chain; it takes “get” on /debug/chain. ', h('code', null, err.message)) : failure(err));
    return;
  }
  const external = whole.servers.flatMap(s => s.claims.filter(c => c.external));
  const nodes = new Map(whole.servers.map(s => [s.name, node(s, s.name === 'external' ? external : [])]));
  fill(picture, ...draw(nodes));
  const histories = new Map();
  repeat(signal, every, async () => {
    const now = await get('/debug/chain?claims=false', { signal });
    for (const s of now.servers) nodes.get(s.name)?.update(s.traffic, histories);
  });
  const before = new Map();
  repeat(signal, 5000, () => showFigures(figures, busiest, before, signal));
}

// repeat calls a function now and periodically; failures are retried.
async function repeat(signal, pause, f) {
  while (!signal.aborted) {
    if (!document.hidden) await f().catch(() => {});
    await new Promise(done => { setTimeout(done, pause); });
  }
}

function draw(nodes) {
  const arrow = () => h('div', { class: 'arrow', 'aria-hidden': 'true' });
  const order = ['filters', 'kube-aggregator', 'kube-apiserver', 'apiextensions-apiserver', 'none'];
  const line = order.filter(n => nodes.has(n)).flatMap((n, i) => [i ? arrow() : null,
    n === 'kube-aggregator' ? h('div', { class: 'stack' }, nodes.get(n).element, h('div', { class: 'branch', 'aria-hidden': 'true' }), nodes.get('external')?.element) : nodes.get(n).element]);
  return [h('div', { class: 'line' }, h('div', { class: 'client' }, 'clients'), arrow(), ...line)];
}

function node(s, external) {
  const [title, role] = roles[s.name] ?? [s.name, ''];
  const rate = h('b', null, '–'), took = h('span', null, '–'), errors = h('span', null, '–');
  const line = h('polyline', { points: '', fill: 'none', 'vector-effect': 'non-scaling-stroke' });
  const element = h('article', { class: 'node', 'data-server': s.name, tabindex: s.claims.length ? '0' : null },
    h('h2', null, title), h('p', { class: 'dim' }, role),
    h('svg', { viewBox: '0 0 60 20', preserveAspectRatio: 'none', class: 'spark', role: 'img', 'aria-label': 'Requests a second' }, line),
    h('dl', null, h('dt', null, 'req/s'), h('dd', null, rate), h('dt', null, 'p99'), h('dd', null, took), h('dt', null, 'errors/s'), h('dd', null, errors)),
    external.length ? externals(external) : null, s.claims.length ? claims(s.claims) : null);
  return { element, update: (traffic, histories) => {
    const history = histories.get(s.name) ?? [];
    histories.set(s.name, history);
    const last = history[history.length - 1];
    const total = Object.values(traffic.requests).reduce((a, b) => a + b, 0), failed = traffic.requests['5xx'] ?? 0, refused = traffic.requests['4xx'] ?? 0;
    const now = { at: performance.now(), total, failed, refused, within: traffic.within, rate: 0 };
    history.push(now);
    if (history.length > kept) history.shift();
    if (!last) { fill(rate, String(total)); fill(errors, String(failed + refused)); element.classList.add('total'); return; }
    const seconds = (now.at - last.at) / 1000;
    now.rate = (total - last.total) / seconds;
    fill(rate, short(now.rate));
    fill(took, percentile(last.within, now.within, 0.99));
    const per = (failed - last.failed) / seconds, soft = (refused - last.refused) / seconds;
    fill(errors, [[per, '5xx'], [soft, '4xx']].filter(([n]) => n > 0).map(([n, code]) => `${short(n)} ${code}`).join(' · ') || '0');
    element.classList.toggle('failing', per > 0);
    const max = Math.max(1, ...history.map(p => p.rate));
    line.setAttribute('points', history.map((p, i) => `${kept - history.length + i},${19 - 18 * p.rate / max}`).join(' '));
  } };
}

const short = n => (n === 0 ? '0' : n < 10 ? n.toFixed(1) : String(Math.round(n)));

// percentile estimates from the growth of each bucket between two readings.
function percentile(before, after, p) {
  const counts = after.map((b, i) => ({ seconds: b.seconds, count: b.count - (before[i]?.count ?? 0) }));
  const total = counts[counts.length - 1]?.count ?? 0;
  if (total <= 0) return '–';
  const found = counts.find(c => c.count >= p * total);
  return `≤ ${found.seconds < 1 ? `${found.seconds * 1000} ms` : `${found.seconds} s`}`;
}

function claims(all) {
  return h('details', null, h('summary', null, `${all.length} claims`),
    h('ul', { class: 'claims' }, all.map(c => h('li', { title: c.object ?? '' }, h('code', null, c.path), ' ', h('span', { class: 'dim' }, c.rule)))));
}

function externals(all) {
  return h('ul', { class: 'externals' }, all.slice(0, 8).map(c => h('li', { title: `${c.external.service}: ${c.external.message ?? ''}` }, h('code', null, c.object),
    h('span', { class: c.external.available ? 'ok' : 'bad-text' }, c.external.available ? `${(c.external.latencySeconds * 1000).toFixed(1)} ms` : c.external.reason))),
    all.length > 8 ? h('li', { class: 'dim' }, `and ${all.length - 8} more`) : null);
}

const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'];

function form(answer, picture) {
  const path = h('input', { type: 'text', id: 'path', value: '/api/v1/namespaces/default/pods', spellcheck: 'false', size: '46' });
  const verb = h('select', null, verbs.map(v => h('option', { value: v }, v)));
  verb.value = 'list';
  const ask = async e => {
    e.preventDefault();
    try {
      const a = await get(`/debug/chain?${new URLSearchParams({ path: path.value, verb: verb.value })}`);
      for (const n of picture.querySelectorAll('.node')) {
        const step = a.walk.find(w => w.server === n.dataset.server);
        n.classList.toggle('passed', step?.does === 'delegates' || n.dataset.server === 'filters');
        n.classList.toggle('answers', n.dataset.server === (a.claim.external ? 'external' : a.server));
      }
      fill(answer, explained(a));
    } catch (err) { fill(answer, failure(err)); }
  };
  return h('form', { class: 'ask', onsubmit: ask, 'aria-label': 'Who answers' }, h('h2', null, 'Who answers?'), field('Verb', verb), field('Path', path), h('button', { type: 'submit' }, 'Ask'));
}

function explained(a) {
  const acting = a.filters.filter(f => f.does);
  return h('div', { class: 'explained' },
    h('p', null, h('b', null, a.server), ' answers, by ', h('code', null, a.claim.path), ' ', h('span', { class: 'tag' }, a.claim.rule),
      a.claim.object ? [' of ', h('code', null, a.claim.object)] : null, a.claim.route ? [' at ', h('code', null, a.claim.route)] : null, '.'),
    h('ol', null, a.walk.map(w => h('li', null, w.server, ' ', h('span', { class: w.does === 'is hidden' ? 'bad-text' : 'dim' }, w.does),
      w.does === 'is hidden' ? [' with ', h('code', null, w.claim.path), ` (${w.claim.rule})`] : null))),
    h('p', null, 'Authorization: ', h('span', { class: a.authorization.decision === 'allow' ? 'ok' : 'bad-text' }, a.authorization.decision), ' ',
      h('span', { class: 'dim' }, a.authorization.reason ?? '')),
    h('ul', { class: 'plain' }, acting.map(f => h('li', null, h('b', null, f.name), ' ', f.does))),
    h('p', { class: 'dim' }, a.filters.map(f => f.name).join(' → ')));
}

const wanted = /^(process_resident_memory_bytes|go_memstats_heap_inuse_bytes|go_goroutines|process_start_time_seconds|triplane_embedded_etcd_\w+_bytes|apiserver_longrunning_requests|apiserver_current_inflight_requests|apiserver_storage_objects|apiserver_resource_objects|apiserver_storage_db_total_size_in_bytes|apiserver_storage_size_bytes|apiserver_watch_cache_\w*bytes|etcd_lease_object_counts_count|apiserver_request_total|triplane_cache_\w+)(?:\{(.*)\})? (\S+)$/;

async function showFigures(figures, busiest, before, signal) {
  const response = await send('/metrics', { accept: 'text/plain', signal }).catch(err => {
    fill(figures, err.code === 403 ? note('You may not read /metrics.') : failure(err));
    return null;
  });
  if (!response) return;
  const sums = new Map(), resources = new Map(), objects = new Map();
  for (const line of (await response.text()).split('\n')) {
    const m = wanted.exec(line);
    if (!m) continue;
    const value = Number(m[3]);
    sums.set(m[1], (sums.get(m[1]) ?? 0) + value);
    const resource = /(?:^|,)resource="([^"]*)"/.exec(m[2] ?? '')?.[1], group = /(?:^|,)group="([^"]*)"/.exec(m[2] ?? '')?.[1];
    if (!resource) continue;
    const name = group ? `${resource}.${group}` : resource;
    if (m[1] === 'apiserver_request_total') resources.set(name, (resources.get(name) ?? 0) + value);
    if (/^apiserver_(resource|storage)_objects$/.test(m[1])) objects.set(resource, Math.max(objects.get(resource) ?? 0, value));
  }
  const quota = sums.get('triplane_embedded_etcd_quota_bytes'), used = sums.get('triplane_embedded_etcd_used_bytes');
  fill(figures,
    figure('Memory', bytes(sums.get('process_resident_memory_bytes')), `${bytes(sums.get('go_memstats_heap_inuse_bytes'))} of heap in use`),
    quota ? figure('Store', bytes(used), `of ${bytes(quota)}`, used / quota) : figure('Store', bytes(sums.get('apiserver_storage_size_bytes')), 'etcd'),
    figure('Objects', String([...objects.values()].reduce((a, b) => a + Math.max(0, b), 0)), `of ${[...objects.values()].filter(n => n > 0).length} kinds`),
    figure('Open', String(sums.get('apiserver_longrunning_requests') ?? 0), 'watches and other long requests'),
    figure('In flight', String(sums.get('apiserver_current_inflight_requests') ?? 0), `${sums.get('go_goroutines') ?? 0} goroutines`),
    figure('Up', span(Date.now() / 1000 - sums.get('process_start_time_seconds')), new Date(sums.get('process_start_time_seconds') * 1000).toLocaleString()));
  const rows = [...resources].map(([name, n]) => [name, n - (before.get(name) ?? n), n]).sort((a, b) => b[1] - a[1] || b[2] - a[2]).slice(0, 8);
  for (const [name, n] of resources) before.set(name, n);
  fill(busiest, h('h2', null, 'Busiest resources'), table(['Resource', 'Requests / s', 'Since the start'], rows.map(([name, d, n]) => [name, short(d / 5), String(n)])));
}

function figure(name, value, more, part) {
  return h('div', { class: 'figure' }, h('h3', null, name), h('b', null, value), h('span', { class: 'dim' }, more),
    part !== undefined ? h('progress', { max: '1', value: part, 'aria-label': name }) : null);
}

function span(s) {
  if (!(s > 0)) return '–';
  return s < 3600 ? `${Math.floor(s / 60)}m ${Math.floor(s % 60)}s` : s < 86400 ? `${Math.floor(s / 3600)}h ${Math.floor(s % 3600 / 60)}m` : `${Math.floor(s / 86400)}d`;
}
