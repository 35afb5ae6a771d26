// An editor of YAML: a text area over the same text with colours, line numbers, and
// errors at their lines.
import { h, fill } from './dom.js';
import { tokens, lineOf } from './yaml.js';

const lineHeight = 19;

export class Editor {
  constructor(text, label) {
    this.numbers = h('div', { class: 'numbers', 'aria-hidden': 'true' });
    this.colours = h('pre', { class: 'colours', 'aria-hidden': 'true' });
    this.marks = h('div', { class: 'marks' });
    this.area = h('textarea', { spellcheck: 'false', autocapitalize: 'off', autocomplete: 'off', wrap: 'off', 'aria-label': label, oninput: () => this.draw(), onkeydown: e => this.key(e) });
    this.element = h('div', { class: 'editor' }, this.numbers, h('div', { class: 'sheet' }, this.colours, this.area, this.marks));
    this.text = text;
  }

  get text() { return this.area.value; }

  set text(value) { this.area.value = value; this.draw(); }

  draw() {
    const lines = this.text.split('\n');
    fill(this.numbers, lines.map((_, n) => h('span', { 'data-line': String(n + 1) }, String(n + 1))));
    fill(this.colours, coloured(lines));
    this.element.style.setProperty('--lines', String(lines.length));
    this.element.style.setProperty('--width', String(Math.max(...lines.map(l => l.length)) + 4));
    this.clear();
  }

  clear() {
    fill(this.marks);
    for (const e of this.numbers.querySelectorAll('.wrong')) e.classList.remove('wrong');
  }

  // mark shows errors, [{field or line, message}], at their lines.
  mark(errors) {
    this.clear();
    const at = new Map();
    for (const e of errors) {
      const line = e.line ?? lineOf(this.text, e.field ?? '');
      at.set(line, [...(at.get(line) ?? []), e.message]);
    }
    for (const [line, messages] of at) {
      this.numbers.children[line]?.classList.add('wrong');
      const m = h('div', { class: 'mark', role: 'alert', 'data-line': String(line + 1) }, messages.join('; '));
      m.style.top = `${line * lineHeight}px`;
      this.marks.append(m);
    }
    this.marks.firstChild?.scrollIntoView({ block: 'center' });
  }

  // key makes Tab indent; after Escape, Tab moves the focus.
  key(e) {
    if (e.key === 'Escape') this.area.blur();
    if (e.key !== 'Tab' || e.shiftKey) return;
    e.preventDefault();
    this.area.setRangeText('  ', this.area.selectionStart, this.area.selectionEnd, 'end');
    this.draw();
  }
}

export function coloured(lines) {
  return lines.flatMap(l => [...tokens(l).map(([c, text]) => (c ? h('span', { class: c }, text) : text)), '\n']);
}

// errorsOf returns the errors of a response by field or line.
export function errorsOf(err) {
  const errors = err.causes?.filter(c => c.field).map(c => ({ field: c.field, message: `${c.field}: ${c.message}` })) ?? [];
  for (const m of err.message.matchAll(/(unknown|duplicate) field "([^"]+)"/g)) errors.push({ field: m[2], message: `${m[1]} field ${m[2]}` });
  for (const m of err.message.matchAll(/(?:^|: |\n)\.([\w.[\]"=/-]+): (expected [^\n]+|field not declared in schema)/g)) errors.push({ field: m[1], message: m[2] });
  const line = /line (\d+): ([^\n]*)/.exec(err.message);
  if (!errors.length && line) errors.push({ line: Number(line[1]) - 1, message: line[2] });
  return errors;
}
