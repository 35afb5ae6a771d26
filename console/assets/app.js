// The shell: login, the list of resources, and the view that the fragment selects.
import { h, fill, link, field, failure, button } from './dom.js';
import { signIn, hasToken, currentToken, whenSignedOut, whoAmI, workspace, enter } from './api.js';
import { discover, onDiscovery, followDiscovery, preferred, tableHref, groups } from './discovery.js';
import { overview } from './overview.js';
import { objects } from './objects.js';
import { object, create } from './object.js';
import { schema } from './schema.js';
import { access } from './access.js';
import { audit } from './audit.js';
import { definitions } from './definitions.js';

const views = { '': overview, r: objects, o: object, new: create, schema, access, audit, apis: definitions };
const titles = { '': 'Chain', new: 'Apply', schema: 'Schema', access: 'Access', audit: 'Audit', apis: 'APIs' };
const ofServer = ['', 'audit']; // views that workspaces do not have

let session = null; // ends at logout
let view = null; // ends when another view opens
let user = null;
let entered = ''; // the workspace that the shell shows

const main = h('main', { id: 'main', tabindex: '-1' });

async function start() {
  takeToken();
  try {
    user = await whoAmI();
    if (user.username === 'system:anonymous' && !hasToken()) return signInPage();
  } catch (err) {
    return signInPage((err.code === 401 || err.code === 403) && !hasToken() ? null : err);
  }
  return shell();
}

// takeToken reads the token that "triplane console" has put into the fragment, which browsers
// do not send, and removes it from the address and the history.
function takeToken() {
  const m = /^#token=(.+)$/.exec(location.hash);
  if (!m) return;
  signIn(decodeURIComponent(m[1]));
  history.replaceState(null, '', location.pathname + location.search);
}

function signInPage(err) {
  session?.abort();
  view?.abort();
  const token = h('input', { type: 'password', id: 'token', autocomplete: 'off', spellcheck: 'false', required: true, placeholder: 'eyJhbGciOi…' });
  const submit = async e => {
    e.preventDefault();
    signIn(token.value.trim());
    try {
      user = await whoAmI();
      shell();
    } catch (failed) {
      signIn(null);
      signInPage(failed);
      document.querySelector('#token').focus();
    }
  };
  fill(document.body, h('div', { class: 'signin' }, h('form', { onsubmit: submit },
    h('h1', null, mark(), 'Triplane'),
    field('Token', token),
    err ? failure(err) : null,
    h('button', { type: 'submit', class: 'primary' }, 'Sign in'),
    h('p', { class: 'dim' }, 'A token of a service account or of your identity provider. It stays in the memory of this page: reloading forgets it. ',
      'Or let ', h('code', null, 'triplane console'), ' open the page with a token of its own, or import a client certificate into the browser.'))));
  token.focus();
}

function mark() {
  return h('svg', { class: 'logo', viewBox: '0 0 24 24', 'aria-hidden': 'true' },
    h('path', { d: 'M3 7h18M3 12h13M3 17h8', 'stroke-width': '2.4', 'stroke-linecap': 'round', stroke: 'currentColor' }));
}

async function shell() {
  session?.abort();
  session = new AbortController();
  entered = workspace();
  groups.length = 0;
  whenSignedOut(err => { signIn(null); signInPage(err); });
  const filter = h('input', { type: 'search', id: 'find', placeholder: 'Find a kind', 'aria-label': 'Find a kind', oninput: () => list(filter.value) });
  const resources = h('div', { id: 'resources' });
  const nav = h('nav', { 'aria-label': 'Console' },
    h('a', { class: 'brand', href: '#/' }, mark(), 'Triplane'),
    h('ul', { class: 'main-nav' }, Object.entries(titles).filter(([name]) => !entered || !ofServer.includes(name)).map(([name, title]) => h('li', null, link(`#/${name}`, title))),
      entered ? null : h('li', null, h('a', { href: '../swagger-ui/', onclick: openSwagger }, 'Swagger UI'))),
    filter, resources);
  const list = text => fill(resources, kinds(text.trim().toLowerCase()));
  fill(document.body,
    h('a', { class: 'skip', href: '#main', onclick: e => { e.preventDefault(); main.focus(); } }, 'Skip to the content'),
    nav, h('header', null, button('☰', () => document.body.classList.toggle('nav-open'), { class: 'menu', 'aria-label': 'Navigation' }),
      h('h1', { id: 'title' }), h('span', { class: 'spacer' }),
      entered ? [h('span', { class: 'tag', id: 'workspace' }, `workspace ${entered}`), button('Leave', () => enter(''), { id: 'leave' })] : null,
      h('span', { class: 'user', title: (user.groups ?? []).join('\n') }, user.username),
      button('Sign out', () => { signIn(null); signInPage(); })),
    main);
  session.signal.addEventListener('abort', onDiscovery(() => list(filter.value)));
  try { await discover(); } catch (err) { fill(resources, failure(err)); }
  followDiscovery(session.signal);
  route();
}

// openSwagger passes the token in the fragment, as it was received.
function openSwagger(e) {
  if (!hasToken()) return;
  e.preventDefault();
  open(`../swagger-ui/#token=${encodeURIComponent(currentToken())}`, '_blank', 'noopener');
}

function kinds(text) {
  const byGroup = new Map();
  for (const r of preferred()) {
    if (!r.verbs.includes('list')) continue;
    if (text && ![r.resource, r.kind.toLowerCase(), r.group, ...r.shortNames].some(s => s.includes(text))) continue;
    if (!byGroup.has(r.group)) byGroup.set(r.group, []);
    byGroup.get(r.group).push(r);
  }
  return [...byGroup].map(([group, all]) => h('details', { open: group === '' || text !== '' || all.some(isCurrent) },
    h('summary', null, group || 'core', h('span', { class: 'count' }, String(all.length))),
    h('ul', null, all.sort((a, b) => a.resource.localeCompare(b.resource)).map(r => h('li', null,
      h('a', { href: tableHref(r), title: r.kind, 'aria-current': isCurrent(r) ? 'page' : null }, r.resource))))));
}

const isCurrent = r => location.hash.split('?')[0].startsWith(tableHref(r));

function route() {
  if (!session || session.signal.aborted) return;
  view?.abort();
  view = new AbortController();
  document.body.classList.remove('nav-open');
  const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
  const [first, ...rest] = path.split('/').map(decodeURIComponent);
  const name = entered && ofServer.includes(first) ? 'apis' : first;
  const show = views[name] ?? overview;
  const title = titles[name] ?? rest[rest.length - 1] ?? '';
  document.querySelector('#title').textContent = title;
  document.title = `${title} · Triplane`;
  for (const a of document.querySelectorAll('nav a')) {
    const here = a.getAttribute('href') === location.hash.split('?')[0] || (a.getAttribute('href') === '#/' && path === '' && a.closest('.main-nav'));
    if (here) a.setAttribute('aria-current', 'page'); else a.removeAttribute('aria-current');
  }
  const page = h('div', { class: `view view-${name || 'chain'}` });
  fill(main, page);
  Promise.resolve(show(page, rest, new URLSearchParams(query), view.signal, user)).catch(err => {
    if (!view.signal.aborted) page.append(failure(err));
  });
}

addEventListener('hashchange', () => {
  if (location.hash.startsWith('#token=')) start(); else route();
});
addEventListener('popstate', async () => {
  if (workspace() === entered) return;
  session?.abort();
  user = await whoAmI().catch(() => user);
  shell();
});
addEventListener('keydown', e => {
  if (e.target.closest('input, textarea, select') || e.ctrlKey || e.metaKey || e.altKey) return;
  if (e.key === '/') {
    e.preventDefault();
    (document.querySelector('#filter') ?? document.querySelector('#find'))?.focus();
  } else if (e.key === 'f') {
    e.preventDefault();
    document.querySelector('#find')?.focus();
  }
});
start();
