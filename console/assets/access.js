// Permissions: the user's rules in a namespace, and access reviews for any user.
import { h, fill, field, failure, note, table } from './dom.js';
import { post } from './api.js';

export async function access(root, _path, query, signal, user) {
  const ns = h('input', { type: 'text', value: query.get('ns') ?? 'default', onchange: () => rules(list, ns.value) });
  const list = h('div');
  root.append(h('section', null, h('h2', null, 'You'), h('p', null, h('b', null, user.username), ' ', h('span', { class: 'dim' }, (user.groups ?? []).join(', ')))),
    question(), h('section', null, h('h2', null, 'Your rules'), h('div', { class: 'bar' }, field('Namespace', ns)), list));
  await rules(list, ns.value);
}

async function rules(list, namespace) {
  try {
    const { status } = await post('/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', spec: { namespace } });
    fill(list, status.incomplete ? note('There may be more: ', status.evaluationError ?? 'an authorizer cannot list its rules.') : null,
      table(['Verbs', 'Groups', 'Resources', 'Names'], (status.resourceRules ?? []).map(r => [r.verbs.join(' '), (r.apiGroups ?? []).map(g => g || 'core').join(' '), (r.resources ?? []).join(' '), (r.resourceNames ?? []).join(' ')])),
      h('h3', null, 'Paths'), table(['Verbs', 'Paths'], (status.nonResourceRules ?? []).map(r => [r.verbs.join(' '), (r.nonResourceURLs ?? []).join(' ')])));
  } catch (err) { fill(list, failure(err)); }
}

function question() {
  const input = (name, value, size = '14') => h('input', { type: 'text', name, value, size });
  const who = input('user', ''), groups = input('groups', '', '20'), verb = input('verb', 'list', '8'), resource = input('resource', 'pods'), group = input('group', ''), ns = input('namespace', 'default'), name = input('name', '');
  const answer = h('span', { 'aria-live': 'polite', id: 'verdict' });
  const ask = async e => {
    e.preventDefault();
    const [plural, subresource] = resource.value.trim().split('/');
    const resourceAttributes = { verb: verb.value.trim(), resource: plural, subresource, group: group.value.trim(), namespace: ns.value.trim(), name: name.value.trim() };
    const others = who.value.trim() || groups.value.trim();
    const kind = others ? 'SubjectAccessReview' : 'SelfSubjectAccessReview';
    const spec = others ? { resourceAttributes, user: who.value.trim(), groups: groups.value.split(/[\s,]+/).filter(Boolean) } : { resourceAttributes };
    try {
      const { status } = await post(`/apis/authorization.k8s.io/v1/${kind.toLowerCase()}s`, { apiVersion: 'authorization.k8s.io/v1', kind, spec });
      fill(answer, h('b', { class: status.allowed ? 'ok' : 'bad-text' }, status.allowed ? 'yes' : 'no'), ' ', status.reason ?? '', status.evaluationError ? ` (${status.evaluationError})` : '');
    } catch (err) { fill(answer, failure(err)); }
  };
  return h('section', null, h('h2', null, 'Who can?'), h('form', { class: 'bar', onsubmit: ask }, field('User', who), field('Groups', groups), field('Verb', verb), field('Resource', resource), field('API group', group), field('Namespace', ns), field('Name', name),
    h('button', { type: 'submit' }, 'Ask'), answer), h('p', { class: 'dim' }, 'Without a user and groups the question is about you.'));
}
