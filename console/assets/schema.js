// The schema of a kind, from the OpenAPI documents, expandable by field.
import { h, fill, field, note } from './dom.js';
import { get } from './api.js';
import { everything, versionPath } from './discovery.js';

export async function schema(root, [groupName, version, kind], _query, signal) {
  const kinds = everything().filter(r => r.kind && !r.resource.includes('/'));
  const choice = h('input', { type: 'text', list: 'kinds', placeholder: 'Kind', value: kind ?? '', onchange: () => {
    const r = kinds.find(k => label(k) === choice.value);
    if (r) location.hash = `#/schema/${r.group || 'core'}/${r.version}/${r.kind}`;
  } });
  root.append(h('div', { class: 'bar' }, field('Kind', choice), h('datalist', { id: 'kinds' }, kinds.map(k => h('option', { value: label(k) })))));
  if (!kind) { root.append(note('Choose a kind to see its fields.')); return; }
  const group = groupName === 'core' ? '' : groupName;
  const doc = await get(`/openapi/v3${versionPath({ group, version })}`, { signal });
  const schemas = doc.components?.schemas ?? {};
  const found = Object.values(schemas).find(s => s['x-kubernetes-group-version-kind']?.some(g => g.group === group && g.version === version && g.kind === kind));
  if (!found) { root.append(note(`The document has no schema of ${kind}.`)); return; }
  root.append(h('div', { class: 'schema' }, h('h2', null, kind, ' ', h('span', { class: 'dim' }, group ? `${group}/${version}` : version)), h('p', null, found.description ?? ''), properties(found, schemas)));
}

const label = r => `${r.kind} ${r.group ? `${r.group}/` : ''}${r.version}`;

// resolve follows references, some of which are in allOf to have a description.
function resolve(s, schemas) {
  const ref = s?.$ref ?? s?.allOf?.[0]?.$ref;
  return ref ? { ...schemas[ref.replace('#/components/schemas/', '')], ...(s.description ? { description: s.description } : {}) } : s;
}

function typeOf(s, schemas) {
  if (s['x-kubernetes-int-or-string']) return 'integer or string';
  if (s.type === 'array') return `[]${typeOf(resolve(s.items ?? {}, schemas), schemas)}`;
  if (s.additionalProperties) return `map of ${typeOf(resolve(s.additionalProperties, schemas), schemas)}`;
  return s.format ? `${s.type} (${s.format})` : s.type ?? (s.properties ? 'object' : 'any');
}

// inner returns the object schema of a field, single or list.
function inner(s, schemas) {
  for (let at = s; at;) {
    if (at.properties) return at;
    const next = at.items ?? (typeof at.additionalProperties === 'object' ? at.additionalProperties : null);
    at = next ? resolve(next, schemas) : null;
  }
  return null;
}

function properties(s, schemas) {
  const required = new Set(s.required ?? []);
  return h('ul', { class: 'fields' }, Object.entries(s.properties ?? {}).sort(([a], [b]) => a.localeCompare(b)).map(([name, raw]) => {
    const p = resolve(raw, schemas), below = inner(p, schemas);
    const facts = [['default', p.default], ['enum', p.enum], ['minimum', p.minimum], ['maximum', p.maximum], ['pattern', p.pattern], ['maxLength', p.maxLength], ['list', p['x-kubernetes-list-type']], ['key', p['x-kubernetes-list-map-keys']]]
      .filter(([k, v]) => v !== undefined && !(k === 'default' && typeof v === 'object'));
    const head = [h('b', null, name), ' ', h('span', { class: 'type' }, typeOf(p, schemas)), required.has(name) ? h('span', { class: 'tag' }, 'required') : null];
    const more = [h('p', null, p.description ?? ''), facts.length ? h('p', { class: 'dim' }, facts.map(([k, v]) => `${k}: ${Array.isArray(v) ? v.join(', ') : String(v)}`).join(' · ')) : null,
      (p['x-kubernetes-validations'] ?? []).map(v => h('p', null, h('code', null, v.rule), ' ', v.message ?? ''))];
    if (!below) return h('li', null, h('div', { class: 'leaf' }, head), more);
    const body = h('div');
    const details = h('details', { ontoggle: () => { if (details.open && !body.childElementCount) fill(body, properties(below, schemas)); } }, h('summary', null, head, more), body);
    return h('li', null, details);
  }));
}
