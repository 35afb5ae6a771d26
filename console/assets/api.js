// Requests to the API, with the user's credential: a token, or none if the browser sends a
// certificate or a proxy adds a credential.

// The token is stored in memory only. All proxied pages, for example of pods, have the origin
// of this page and could read cookies and storage.
let token = null;
let onSignedOut = () => {};

export function signIn(value) { token = value || null; }
export function hasToken() { return token !== null; }
export function currentToken() { return token; }
export function whenSignedOut(f) { onSignedOut = f; }

// workspace returns the workspace whose API the page shows: that of the address, '' for the server's own API.
export function workspace() {
  const name = new URLSearchParams(location.search).get('workspace') ?? '';
  return /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(name) ? name : '';
}

// enter shows another workspace. The page stays, because it has the token.
export function enter(name) {
  history.pushState(null, '', `${location.pathname}${name ? `?workspace=${name}` : ''}#/`);
  dispatchEvent(new PopStateEvent('popstate'));
}

// within returns the path of the server for a path of the workspace's API. Metrics and /debug are the server's alone.
function within(path) {
  const name = workspace();
  return name && !/^\/(metrics|debug)\b/.test(path) ? `/workspaces/${name}${path}` : path;
}

// ApiError is a response of 400 or more.
export class ApiError extends Error {
  constructor(code, status, text) {
    super(status?.message || text || `the server responds ${code}`);
    this.code = code;
    this.causes = status?.details?.causes ?? [];
    this.reason = status?.reason ?? '';
  }
}

export async function send(path, { method = 'GET', body, type, accept = 'application/json', signal } = {}) {
  const headers = { Accept: accept };
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers['Content-Type'] = type ?? 'application/json';
  const response = await fetch(within(path), { method, headers, body, signal, credentials: 'same-origin', redirect: 'error', cache: 'no-store' });
  if (response.ok) return response;
  const text = await response.text();
  let status;
  try { status = JSON.parse(text); } catch { /* plain text explains itself */ }
  const err = new ApiError(response.status, status, text.trim());
  if (response.status === 401) onSignedOut(err);
  throw err;
}

// parse parses JSON. Integers that exceed the browser's numbers become BigInts, so that an
// object is written with the values with which it was read.
export function parse(text) {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_, v, context) => (typeof v === 'number' && !Number.isSafeInteger(v) && /^-?\d+$/.test(context?.source ?? '') ? BigInt(context.source) : v));
}

export async function get(path, options) { return parse(await (await send(path, options)).text()); }

export async function post(path, object) {
  return (await send(path, { method: 'POST', body: JSON.stringify(object) })).json();
}

export const asTable = 'application/json;as=Table;v=v1;g=meta.k8s.io';
export const asMetadata = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
export const asOneMetadata = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';

// watch calls f with each event until the signal aborts. It returns when the server
// ends the watch, and throws an ApiError for an error such as 410.
export async function watch(path, accept, signal, f) {
  const response = await send(path, { accept, signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      if (!line) continue;
      const event = parse(line);
      if (event.type === 'ERROR') throw new ApiError(event.object.code ?? 500, event.object);
      f(event);
    }
  }
}

// follow restarts a watch whenever it ends, until the signal aborts. start returns
// the path to watch; it lists again if necessary.
export async function follow(start, accept, signal, f, failed) {
  for (let pause = 500; !signal.aborted; pause = Math.min(pause * 2, 15000)) {
    try {
      await watch(await start(), accept, signal, e => { pause = 500; f(e); });
    } catch (err) {
      if (signal.aborted) return;
      failed(err);
      if (err.code === 403 || err.code === 404) return;
    }
    await new Promise(done => { setTimeout(done, pause); });
  }
}

export async function whoAmI() {
  const review = await post('/apis/authentication.k8s.io/v1/selfsubjectreviews',
    { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' });
  return review.status.userInfo;
}

// allowed reports whether the user may do something.
export async function allowed(attributes) {
  const review = await post('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: attributes });
  return review.status.allowed;
}
