// Swagger UI for the OpenAPI documents of the server, one group version at a time, with
// the token of the user, which is stored only in the memory of this page.
const group = document.querySelector('#group'), token = document.querySelector('#token'), error = document.querySelector('#error');

const handed = /^#token=(.+)$/.exec(location.hash);
if (handed) {
  token.value = decodeURIComponent(handed[1]);
  history.replaceState(null, '', location.pathname);
}

const headers = () => (token.value.trim() ? { Authorization: `Bearer ${token.value.trim()}` } : {});

function say(text) {
  error.textContent = text;
  error.hidden = !text;
}

async function start() {
  say('');
  try {
    const response = await fetch('/openapi/v3', { headers: { ...headers(), Accept: 'application/json' }, credentials: 'same-origin' });
    if (!response.ok) throw new Error((await response.json().catch(() => null))?.message ?? `the server responds ${response.status}`);
    const { paths } = await response.json();
    const chosen = group.value || 'apis/apps/v1';
    group.replaceChildren(...Object.keys(paths).sort().map(p => new Option(p, p, false, p === chosen)));
    show();
  } catch (err) { say(`${err.message}. Sign in with a token.`); }
}

function show() {
  window.SwaggerUIBundle({
    dom_id: '#ui', url: `/openapi/v3/${group.value}`, docExpansion: 'list', filter: true, deepLinking: false, validatorUrl: null,
    syntaxHighlight: { activated: false }, defaultModelsExpandDepth: 0, showExtensions: false, supportedSubmitMethods: ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'],
    requestInterceptor: request => {
      // The token is sent only to this server, whatever a document says.
      if (new URL(request.url, location.href).origin === location.origin) Object.assign(request.headers, headers());
      return request;
    },
  });
}

group.addEventListener('change', show);
document.querySelector('#bar').addEventListener('submit', e => { e.preventDefault(); start(); });
start();
