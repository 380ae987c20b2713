/** What bench/ and scripts/ import of the library is there: they run too seldom to notice otherwise. */

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../', import.meta.url));

const scripts = ['bench', 'scripts']
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) =>
      join(folder, file),
    ),
  )
  .filter((file) => /\.mjs$/.test(file) && !file.includes('node_modules'))
  .sort();

const parse = (path: string) =>
  ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.ES2022, true);

/** The source of what a script imports: of `../dist/node.js` it is src/node.ts. */
function sourceOf(script: string, specifier: string): string | undefined {
  if (specifier === 'halfspace') return join(root, 'src/index.ts');
  if (specifier === 'halfspace/node') return join(root, 'src/node.ts');
  const path = relative(join(root, 'dist'), join(root, dirname(script), specifier));
  if (!specifier.startsWith('.') || path.startsWith('..')) return undefined;
  return join(root, 'src', path.replace(/\.js$/, '.ts'));
}

/** The values that a source file exports by name, and those of the files that it exports whole. */
function exportsOf(path: string): string[] {
  return parse(path).statements.flatMap((statement) => {
    if (ts.isExportDeclaration(statement)) {
      const { exportClause, moduleSpecifier } = statement;
      if (exportClause && ts.isNamedExports(exportClause)) {
        return exportClause.elements.filter((one) => !one.isTypeOnly).map((one) => one.name.text);
      }
      const specifier = (moduleSpecifier as ts.StringLiteral).text;
      return exportsOf(`${join(dirname(path), specifier)}.ts`);
    }
    const isExported = ts.canHaveModifiers(statement)
      ? ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
      : false;
    if (!isExported) return [];
    if (ts.isVariableStatement(statement)) {
      return statement.declarationList.declarations.map(({ name }) => name.getText());
    }
    if (ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement)) {
      return [statement.name?.text ?? 'default'];
    }
    return [];
  });
}

/** The names that a script imports of each module, by `import` or by `await import()`. */
function importsOf(script: string): [specifier: string, names: string[]][] {
  return parse(join(root, script)).statements.flatMap((statement) => {
    if (!ts.isImportDeclaration(statement)) return [];
    const bindings = statement.importClause?.namedBindings;
    if (!bindings || !ts.isNamedImports(bindings)) return [];
    const names = bindings.elements.map((one) => (one.propertyName ?? one.name).text);
    return [[(statement.moduleSpecifier as ts.StringLiteral).text, names]];
  });
}

it.each(scripts)('%s parses, and imports names that are exported', (script) => {
  const text = readFileSync(join(root, script), 'utf8');
  const { diagnostics } = ts.transpileModule(text, { reportDiagnostics: true, fileName: script });
  expect(diagnostics?.map(({ messageText }) => messageText)).toEqual([]);
  const missing = importsOf(script).flatMap(([specifier, names]) => {
    const source = sourceOf(script, specifier);
    if (source === undefined) return [];
    const exported = exportsOf(source);
    return names.filter((name) => !exported.includes(name)).map((name) => `${name}, ${specifier}`);
  });
  expect(missing).toEqual([]);
});

it('sees what is imported', () => {
  const [specifier, names] =
    importsOf('bench/exact.mjs').find(([one]) => one.includes('dist')) ?? [];
  expect(names?.length ?? 0, specifier).toBeGreaterThan(0);
});
