// The latest audit events that the server has in memory.
import { h, fill, failure, note, ago } from './dom.js';
import { get } from './api.js';

const most = 500;

export async function audit(root, _path, _query, signal) {
  const events = [];
  const filter = h('input', { type: 'search', id: 'filter', placeholder: 'Filter', 'aria-label': 'Filter', oninput: () => draw() });
  const body = h('tbody');
  const text = e => `${e.user.username} ${e.verb} ${e.requestURI} ${e.responseStatus?.code ?? ''} ${e.annotations?.['triplane/server'] ?? ''}`;
  const draw = () => {
    const wanted = filter.value.trim().toLowerCase();
    fill(body, events.filter(e => text(e).toLowerCase().includes(wanted)).slice(0, 200).map(e => h('tr', { class: (e.responseStatus?.code ?? 0) >= 400 ? 'failed' : null },
      [ago(e.requestReceivedTimestamp), e.user.username, e.verb, e.requestURI, String(e.responseStatus?.code ?? ''), e.annotations?.['triplane/server'] ?? '', e.annotations?.['authorization.k8s.io/decision'] ?? ''].map(c => h('td', { title: c }, c)))));
  };
  let after = 0;
  try {
    ({ last: after } = take(events, await get('/debug/audit', { signal })));
  } catch (err) {
    root.append(err.code === 404 ? note('Audit is off, or the console does not keep its events: --audit-policy-file says what is recorded.')
      : err.code === 403 ? note('You may not see audit events; it takes “get” on /debug/audit.') : failure(err));
    return;
  }
  root.append(h('div', { class: 'bar' }, filter, h('span', { class: 'spacer' }), h('span', { class: 'dim' }, 'live')),
    h('div', { class: 'scroll' }, h('table', { class: 'audit' }, h('thead', null, h('tr', null, ['Ago', 'User', 'Verb', 'URI', 'Code', 'Server', 'Decision'].map(c => h('th', { scope: 'col' }, c)))), body)));
  draw();
  while (!signal.aborted) {
    await new Promise(done => { setTimeout(done, 2000); });
    if (document.hidden || signal.aborted) continue;
    try {
      ({ last: after } = take(events, await get(`/debug/audit?after=${after}`, { signal })));
      draw();
    } catch { /* the next time, perhaps */ }
  }
}

function take(events, answer) {
  events.unshift(...answer.events.reverse());
  events.splice(most);
  return answer;
}
