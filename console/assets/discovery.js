import { get, follow, asMetadata } from './api.js';

const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

// resources are all resources of the server, by group; listeners are called after changes.
export const groups = [];
const listeners = new Set();

export function onDiscovery(f) {
  listeners.add(f);
  return () => listeners.delete(f);
}

export async function discover() {
  const [core, others] = await Promise.all(['/api', '/apis'].map(path => get(path, { accept: aggregated })));
  groups.splice(0, groups.length, ...[...core.items, ...others.items].map(toGroup));
  for (const f of listeners) f();
}

function toGroup(item) {
  const name = item.metadata?.name ?? '';
  return {
    name,
    versions: (item.versions ?? []).map(v => ({
      name: v.version,
      stale: v.freshness === 'Stale',
      resources: (v.resources ?? []).map(r => ({
        group: name, version: v.version, resource: r.resource, kind: r.responseKind?.kind ?? '', singular: r.singularResource,
        namespaced: r.scope === 'Namespaced', verbs: r.verbs ?? [], shortNames: r.shortNames ?? [],
        subresources: (r.subresources ?? []).map(s => ({ name: s.subresource, verbs: s.verbs ?? [] })),
      })),
    })),
  };
}

// preferred returns each resource in the first version that has it.
export function preferred() {
  const seen = new Set(), all = [];
  for (const r of everything()) {
    const key = `${r.group}/${r.resource}`;
    if (!seen.has(key)) { seen.add(key); all.push(r); }
  }
  return all;
}

export function everything() {
  return groups.flatMap(g => g.versions.flatMap(v => v.resources));
}

export function find(group, version, resource) {
  return everything().find(r => r.group === group && r.version === version && r.resource === resource);
}

export function findKind(apiVersion, kind) {
  const [version, group = ''] = apiVersion.split('/').reverse();
  return everything().find(r => r.group === group && r.version === version && r.kind === kind);
}

export function versionPath(r) { return r.group ? `/apis/${r.group}/${r.version}` : `/api/${r.version}`; }
export function apiVersion(r) { return r.group ? `${r.group}/${r.version}` : r.version; }

// pathOf returns the path of a resource, or of an object.
export function pathOf(r, namespace, name) {
  const ns = r.namespaced && namespace ? `/namespaces/${encodeURIComponent(namespace)}` : '';
  return `${versionPath(r)}${ns}/${r.resource}${name ? `/${encodeURIComponent(name)}` : ''}`;
}

export function tableHref(r) { return `#/r/${r.group || 'core'}/${r.version}/${r.resource}`; }
export function objectHref(r, namespace, name) {
  return `#/o/${r.group || 'core'}/${r.version}/${r.resource}/${encodeURIComponent(r.namespaced ? namespace : '-')}/${encodeURIComponent(name)}`;
}

// followDiscovery reads discovery after changes of definitions and APIServices;
// users who may not watch them poll every half minute.
export function followDiscovery(signal) {
  let due = null;
  const soon = () => {
    clearTimeout(due);
    due = setTimeout(() => discover().catch(() => {}), 250);
  };
  for (const path of ['/apis/apiextensions.k8s.io/v1/customresourcedefinitions', '/apis/apiregistration.k8s.io/v1/apiservices']) {
    const start = async () => {
      const list = await get(`${path}?limit=1`, { accept: asMetadata });
      return `${path}?watch=1&resourceVersion=${list.metadata.resourceVersion}`;
    };
    follow(start, asMetadata.replace('List', ''), signal, soon, err => {
      if (err.code === 403) {
        const timer = setInterval(soon, 30000);
        signal.addEventListener('abort', () => clearInterval(timer));
      } else soon();
    });
  }
}
