// The console's YAML: it writes objects, and finds the line of a field.
// The server parses YAML.

// Strings that need quotes, because they have another meaning without.
const plain = /^[A-Za-z_./][\w./ @%+=,()<>;*$^!~\\-]*(?::[\w./@%+=,;*$~\\-]+)*$/;
// Quantities and ids start with a digit; numbers, dates and times do not match.
const mixed = /^(?!0[xob])(?![\d.]+e[+-]?\d+$)(?!\d{4}-\d)(?=.*[A-Za-z])\d[\w.-]*$/i;
const special = /^(?:null|true|false|yes|no|on|off|y|n|~|\.inf|\.nan)$/i;

function scalar(v) {
  if (v === null) return 'null';
  if (typeof v !== 'string') return String(v);
  if (v !== '' && (plain.test(v) || mixed.test(v)) && !special.test(v) && !v.endsWith(' ') && !v.includes(' #')) return v;
  return JSON.stringify(v);
}

const key = k => (/^[A-Za-z_][\w./-]*$/.test(k) && !special.test(k) ? k : JSON.stringify(k));

function block(text, indent) {
  const chomp = text.endsWith('\n') ? '' : '-';
  const lines = (chomp ? text : text.slice(0, -1)).split('\n');
  return `|${chomp}\n${lines.map(l => (l ? ' '.repeat(indent) + l : '')).join('\n')}`;
}

const isBlock = v => typeof v === 'string' && v.includes('\n') && !/(^[\s])|[ \t]$|\r|\n\n$/m.test(v.slice(0, 1) + v.replace(/^[ \t]+/gm, ''));

const isEmpty = v => typeof v === 'object' && v !== null && Object.keys(v).length === 0;

// emit writes a value, like kubectl.
export function emit(value) { return `${node(value, 0).replace(/^\n/, '')}\n`; }

function node(v, indent) {
  const pad = ' '.repeat(indent);
  if (isEmpty(v)) return Array.isArray(v) ? ' []' : ' {}';
  if (Array.isArray(v)) {
    return v.map(e => {
      const text = node(e, indent + 2);
      return `\n${pad}-${text.startsWith('\n') ? ` ${text.slice(indent + 3)}` : text}`;
    }).join('');
  }
  if (typeof v === 'object' && v !== null) {
    return Object.entries(v).map(([k, e]) => `\n${pad}${key(k)}:${node(e, Array.isArray(e) ? indent : indent + 2)}`).join('');
  }
  return ` ${isBlock(v) ? block(v, Math.max(indent, 2)) : scalar(v)}`;
}

// scan finds the lines of fields in block style: [{path, alias, line, indent}], lines
// from 0. alias has the last key in brackets, as the API names keys of maps.
export function scan(text) {
  const out = [];
  const stack = [{ indent: -1, path: '' }];
  let skip = -1; // lines further in than this belong to a block of text
  const top = () => stack[stack.length - 1];
  text.split('\n').forEach((raw, line) => {
    let indent = raw.search(/\S/);
    if (indent < 0 || raw[indent] === '#') return;
    if (skip >= 0 && indent > skip) return;
    skip = -1;
    let rest = raw.slice(indent);
    while (/^-(\s|$)/.test(rest)) {
      while (top().indent > indent) stack.pop();
      let index = 0;
      if (top().item !== undefined && top().indent === indent) index = stack.pop().item + 1;
      const path = `${top().path}[${index}]`;
      stack.push({ indent, path, item: index });
      out.push({ path, alias: path, line, indent });
      const next = rest.slice(1).search(/\S/);
      if (next < 0) return;
      indent += next + 1;
      rest = rest.slice(next + 1);
    }
    const m = /^("(?:[^"\\]|\\.)*"|'[^']*'|[^\s#:[{][^:]*?)\s*:(?:\s+(.*))?$/.exec(rest);
    if (!m) return;
    while (top().indent >= indent) stack.pop();
    const k = m[1].replace(/^["']|["']$/g, ''), above = top().path;
    const path = above ? `${above}.${k}` : k;
    stack.push({ indent, path });
    out.push({ path, alias: `${above}[${k}]`, line, indent, value: m[2] ?? '' });
    if (/^[|>]/.test(m[2] ?? '')) skip = indent;
  });
  return out;
}

// lineOf returns the line of a field, or of its nearest ancestor.
export function lineOf(text, path) {
  const fields = scan(text);
  for (let p = path; p; p = p.replace(/(\.[^.[\]]+|\[[^\]]*\])$|^[^.[\]]+$/, '')) {
    const found = fields.find(f => f.path === p || f.alias === p);
    if (found) return found.line;
    if (!/[.[]/.test(p)) break;
  }
  return 0;
}

// valueOf returns the text after a field; '' if it is not in block style.
export function valueOf(text, path) {
  return (scan(text).find(f => f.path === path)?.value ?? '').replace(/\s+#.*$/, '').replace(/^["']|["']$/g, '');
}

// without removes fields and everything below them.
export function without(text, paths) {
  const lines = text.split('\n'), drop = new Set();
  for (const f of scan(text)) {
    if (!paths.includes(f.path)) continue;
    drop.add(f.line);
    for (let n = f.line + 1; n < lines.length; n++) {
      const indent = lines[n].search(/\S/);
      if (indent >= 0 && indent <= f.indent && !(indent === f.indent && lines[n][indent] === '-')) break;
      drop.add(n);
    }
  }
  return lines.filter((_, n) => !drop.has(n)).join('\n');
}

// split splits a stream of documents; it omits empty ones.
export function split(text) {
  return text.split(/^---.*$/m).filter(d => /^[^#\s]/m.test(d));
}

// tokens splits a line for colours: [class, text].
export function tokens(line) {
  const m = /^(\s*(?:- )*)(?:("(?:[^"\\]|\\.)*"|'[^']*'|[^\s#:"'][^:]*?)(:)(?=\s|$))?(.*)$/.exec(line);
  const out = [['', m[1]]];
  if (m[2]) out.push(['k', m[2]], ['p', m[3]]);
  const rest = m[4];
  if (/^\s*#/.test(rest)) out.push(['c', rest]);
  else if (/^\s*(?:-?\d[\d.eE+-]*|true|false|null)\s*$/.test(rest)) out.push(['n', rest]);
  else if (/^\s*["']/.test(rest)) out.push(['s', rest]);
  else out.push(['v', rest]);
  return out;
}
