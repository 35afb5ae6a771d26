// diff compares two texts by lines: [[' ', line], ['-', line], ['+', line]…].
export function diff(before, after) {
  const a = before.split('\n'), b = after.split('\n');
  let head = 0, tail = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  return [
    ...a.slice(0, head).map(l => [' ', l]),
    ...middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
    ...a.slice(a.length - tail).map(l => [' ', l]),
  ];
}

// most bounds the table of the longest common subsequence.
const most = 4e6;

function middle(a, b) {
  if (a.length * b.length > most) return [...a.map(l => ['-', l]), ...b.map(l => ['+', l])];
  const width = b.length + 1, common = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i * width + j] = a[i] === b[j] ? common[(i + 1) * width + j + 1] + 1
        : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
    }
  }
  const out = [];
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { out.push([' ', a[i]]); i++; j++; }
    else if (j >= b.length || (i < a.length && common[(i + 1) * width + j] >= common[i * width + j + 1])) out.push(['-', a[i++]]);
    else out.push(['+', b[j++]]);
  }
  return out;
}

// hunks returns the changes of a comparison, with lines around them; gaps are null.
export function hunks(lines, around = 3) {
  const keep = new Set();
  lines.forEach(([mark], n) => {
    if (mark !== ' ') for (let i = n - around; i <= n + around; i++) keep.add(i);
  });
  const out = [];
  lines.forEach((line, n) => {
    if (keep.has(n)) out.push(line);
    else if (out.length && out[out.length - 1] !== null) out.push(null);
  });
  return out;
}
