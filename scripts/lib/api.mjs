// The page docs/api.md, made of the declarations of both entry points by the TypeScript compiler:
// of each exported value its signature, what its comment says first, its members and options in a line
// each with the first sentence of their comments, and its example, or where another one uses it. What
// the page says is written in src alone. `npm run docs:api` writes the page; test/docs/api.test.ts
// fails when it is out of date.

import { join } from 'node:path';
import ts from 'typescript';
import { root } from './checks.mjs';

/** Every exported value is in one of these topics, in the order of the page. */
const TOPICS = {
  'Vectors to codes': [
    ...['SimHasher', 'Codes', 'hammingDistance', 'estimateAngle', 'bitsFor'],
    'distanceFor',
  ],
  'Exact scans': ['scan', 'scanAll', 'scanVectors', 'scanVectorsAll'],
  Index: ['SimHashIndex', 'openIndexUrl'],
  'Pairs and groups': [...['pairs', 'dedup']],
  Clusters: ['cluster', 'clusterByDensity'],
  Texts: ['TextHasher', 'FrequencyTable', 'embed'],
  Measuring: ['calibrate', 'measureRecall'],
  Threads: ['closeThreads'],
  Arrow: [
    ...['rowsFromArrow', 'RowBatch', 'codesFromArrow', 'codesToArrow'],
    ...['indexFromArrow', 'indexToArrow', 'frequenciesFromArrow', 'frequenciesToArrow'],
    'FormatError',
  ],
  'Files (Node)': [
    ...['openRows', 'createRows', 'readPlan', 'writePlan', 'applyPlan', 'saveIndex'],
    ...['openIndex', 'IndexFolder'],
  ],
};

const INTRO = `# API

<!-- Made by \`npm run docs:api\` from the comments in src/. Change those, not this page. -->

Every value that \`halfspace\` (browsers and Node) and \`halfspace/node\` (the same, and files) export. The types say more of each. Unknown options are refused.

`;

const LONG_CALLS = `## Long calls

Calls that may take long return promises, run in short steps so that the event loop stays free, and have these options besides their own:

`;

const options = {
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2022.d.ts', 'lib.dom.d.ts'],
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  types: ['node'],
  typeRoots: [join(root, 'node_modules/@types')],
};

/** The page as text, and what is missing in the sources that it is made of. */
export function makeApi() {
  const entries = ['index.ts', 'node.ts'].map((file) => join(root, 'src', file));
  const program = ts.createProgram(entries, options);
  const checker = program.getTypeChecker();
  const [index, node] = entries.map((file) => valuesOf(checker, program.getSourceFile(file)));
  const page = new Page(checker, index, node);
  const listed = Object.values(TOPICS).flat();
  page.problems.push(
    ...[...node.keys()].filter((name) => !listed.includes(name)).map((name) => `${name}: no topic`),
    ...listed.filter((name) => !node.has(name)).map((name) => `${name} is not exported`),
  );
  if (page.problems.length > 0) return { text: '', problems: page.problems };

  const links = Object.entries(TOPICS).map(([topic, names]) => {
    return `- **${topic}**: ${names.map((name) => `[${name}](#${name.toLowerCase()})`).join(', ')}`;
  });
  const longCall = page.optionLines('LongCall', longCallFields(checker, program));
  const sections = Object.entries(TOPICS).map(([topic, names]) => {
    return [`## ${topic}`, ...names.map((name) => page.section(name))].join('\n\n');
  });
  const text = [INTRO + links.join('\n'), LONG_CALLS + longCall.join('\n'), ...sections];
  return { text: `${text.join('\n\n')}\n`, problems: page.problems };
}

/** The values that an entry point exports, by name. */
function valuesOf(checker, file) {
  const values = new Map();
  for (const symbol of checker.getExportsOfModule(checker.getSymbolAtLocation(file))) {
    const isAlias = (symbol.flags & ts.SymbolFlags.Alias) !== 0;
    if (isAlias && symbol.declarations.some((one) => ts.isTypeOnlyExportDeclaration(one))) continue;
    const target = isAlias ? checker.getAliasedSymbol(symbol) : symbol;
    if (target.flags & ts.SymbolFlags.Value) values.set(symbol.name, target);
  }
  return values;
}

function longCallFields(checker, program) {
  const index = checker.getSymbolAtLocation(program.getSourceFile(join(root, 'src/index.ts')));
  const exported = checker.getExportsOfModule(index).find(({ name }) => name === 'LongCall');
  return [...checker.getAliasedSymbol(exported).members.values()];
}

const oneLine = (text) => text.replaceAll(/\s+/g, ' ').replaceAll('( ', '(').replace(/, \)/, ')');

/** `name<I extends Ids | null = Ids | null>(` as `name<I>(`. */
const shortGenerics = (text) => text.replace(/^(\w+<\w+) extends [^>]*>/, '$1>');

class Page {
  problems = [];
  #shown = new Map(); // heading of the section that has the list, by the name of the options
  #lines = new Map(); // heading of the section that has the line
  #options = new Map(); // names of the options that a section lists, by its heading
  #checker;
  #index;
  #node;

  constructor(checker, index, node) {
    this.#checker = checker;
    this.#index = index;
    this.#node = node;
  }

  section(name) {
    const symbol = this.#node.get(name);
    const declarations = symbol.declarations.filter((one) => !ts.isInterfaceDeclaration(one));
    const [declaration] = declarations;
    const lines = [`### ${name}`, ''];
    if (ts.isClassDeclaration(declaration)) {
      lines.push(`\`${constructorOf(declaration)}\``, '', this.#comment(symbol), '');
      lines.push(...this.#parameterLines(name, constructorsOf(declaration)));
      lines.push(...this.#memberLines(name, declaration));
    } else {
      const open = declarations.filter((one) => declarations.length === 1 || !one.body);
      lines.push(open.map((one) => `\`${this.#signature(name, one)}\``).join('<br>\n'), '');
      lines.push(this.#comment(symbol), '');
      lines.push(...this.#parameterLines(name, open));
    }
    lines.push(...this.#example(name, symbol));
    return lines.join('\n').trim();
  }

  /** What a comment says first; without one the sources are to be completed. */
  #comment(symbol) {
    const text = firstParagraph(this.#checker, symbol);
    if (text === '') this.problems.push(`${symbol.name}: no comment`);
    return firstSentence(text);
  }

  #signature(name, declaration) {
    if (declaration.body || ts.isFunctionDeclaration(declaration)) {
      const text = oneLine(headOf(declaration)).replace(/^export (async )?function /, '');
      return shortGenerics(text.replace(/;$/, ''));
    }
    const [signature] = this.#checker.getTypeAtLocation(declaration).getCallSignatures();
    const text = this.#checker.signatureToString(signature);
    return name + text.replace(' | undefined', '');
  }

  /** The options that the functions take; a list that was shown before is linked. */
  #parameterLines(name, declarations) {
    const lines = [];
    for (const declaration of declarations) {
      for (const type of this.#optionTypes(declaration)) {
        const shown = this.#shown.get(type.symbolName);
        if (shown === name) continue;
        if (shown !== undefined) {
          lines.push(`Options: as [${shown}](#${shown.toLowerCase()}).`, '');
          continue;
        }
        this.#shown.set(type.symbolName, name);
        lines.push(...this.optionLines(name, type.fields), '');
        if (type.isLong) lines.push('Also [long calls](#long-calls).', '');
      }
    }
    return lines;
  }

  /** The options objects among the parameters: interfaces named so, or written in place. */
  #optionTypes(declaration) {
    const parameters = ts.isVariableDeclaration(declaration)
      ? this.#restParameters(declaration)
      : declaration.parameters.map((one) => {
          return { name: one.name.getText(), type: this.#checker.getTypeAtLocation(one) };
        });
    return parameters.flatMap((parameter) => {
      if (parameter.name !== 'options') return [];
      const type = this.#checker.getNonNullableType(parameter.type);
      const fields = this.#checker.getPropertiesOfType(type);
      const own = fields.filter((field) => parentName(field) !== 'LongCall');
      const parent = own.length === 0 ? undefined : parentName(own[0]);
      if (parent === undefined) return []; // written in place: the signature shows them
      // One interface may be taken whole here and in part there.
      const symbolName = [parent, ...own.map((field) => field.name)].join(' ');
      return [{ symbolName, fields: own, isLong: own.length < fields.length }];
    });
  }

  /** Parameters of a function that `syncForm` or `asyncForm` made: names and types of a tuple. */
  #restParameters(declaration) {
    const [signature] = this.#checker.getTypeAtLocation(declaration).getCallSignatures();
    return signature.getParameters().flatMap((rest) => {
      const tuple = this.#checker.getTypeOfSymbol(rest);
      const labels = tuple.target?.labeledElementDeclarations ?? [];
      const types = this.#checker.getTypeArguments(tuple);
      return labels.map((label, i) => ({ name: label.name.text, type: types[i] }));
    });
  }

  optionLines(name, fields) {
    const lines = [];
    const shown = fields.filter((field) =>
      isPublic(field.valueDeclaration ?? field.declarations[0]),
    );
    this.#options.set(name, new Set(shown.map((field) => field.name)));
    for (const field of shown) {
      const declaration = field.valueDeclaration ?? field.declarations[0];
      const meaning = this.#meaningOf(field, declaration);
      if (meaning === '') this.problems.push(`${name}, option ${field.name}: no comment`);
      const isRequired = (field.flags & ts.SymbolFlags.Optional) === 0;
      const usual = isRequired ? undefined : this.#defaultOf(declaration);
      const own = this.#typeOf(declaration).replace(isRequired ? '' : / \| undefined$/, '');
      const type = `${field.name}${isRequired ? '' : '?'}: ${own}`;
      const head = usual === undefined ? type : `${type} = ${usual}`;
      lines.push([field.name, `- \`${oneLine(head)}\`: ${firstSentence(meaning)}`]);
    }
    return this.#newLines(name, lines);
  }

  /** Lines that stand nowhere above, and where the others do. */
  #newLines(section, named) {
    const lines = [];
    const above = new Map();
    for (const [name, line] of named) {
      const shown = this.#lines.get(line);
      if (shown === undefined || shown === section) {
        this.#lines.set(line, section);
        lines.push(line);
      } else above.set(shown, [...(above.get(shown) ?? []), `\`${name}\``]);
    }
    for (const [shown, names] of above) lines.push(`- ${names.join(', ')}: as in \`${shown}\``);
    return lines;
  }

  /** The type as it is written, and a union of literals by its members. */
  #typeOf({ type: node }) {
    const type = this.#checker.getNonNullableType(this.#checker.getTypeFromTypeNode(node));
    const isNamed = ts.isTypeReferenceNode(node);
    if (!isNamed || !type.isUnion() || !type.types.every((one) => one.isLiteral())) {
      return node.getText();
    }
    const members = this.#inOrder(type, this.#symbolOf(node)?.declarations[0]?.type);
    return members.map(({ value }) => `'${value.replace('\t', '\\t')}'`).join(' | ');
  }

  /** The members of a union as its declaration has them; the compiler's order may change. */
  #inOrder(union, node) {
    if (node === undefined) return union.types;
    const isOfTuple = ts.isIndexedAccessTypeNode(node);
    const listed = isOfTuple
      ? this.#checker.getTypeArguments(this.#checker.getTypeFromTypeNode(node.objectType))
      : (node.types ?? []).map((one) => this.#checker.getTypeFromTypeNode(one));
    return listed.length === union.types.length ? listed : union.types;
  }

  /** What the name of a type stands for, imported or not. */
  #symbolOf(node) {
    const symbol = this.#checker.getSymbolAtLocation(node.typeName);
    const isAlias = symbol !== undefined && (symbol.flags & ts.SymbolFlags.Alias) !== 0;
    return isAlias ? this.#checker.getAliasedSymbol(symbol) : symbol;
  }

  /** What the comment of an option says, or else the one of its type. */
  #meaningOf(field, declaration) {
    const own = firstParagraph(this.#checker, field);
    if (own !== '' || !declaration.type || !ts.isTypeReferenceNode(declaration.type)) return own;
    const symbol = this.#symbolOf(declaration.type);
    return symbol === undefined ? '' : firstParagraph(this.#checker, symbol);
  }

  /** By the literal NAME_DEFAULTS next to the options, or by the comment's `@default`. */
  #defaultOf(declaration) {
    const tag = ts.getJSDocTags(declaration).find((one) => one.tagName.text === 'default');
    if (tag !== undefined) return ts.getTextOfJSDocComment(tag.comment);
    return this.#defaultsNextTo(declaration.parent)?.get(declaration.name.text);
  }

  #defaultsNextTo(declaration) {
    if (!ts.isInterfaceDeclaration(declaration)) return null;
    const wanted = `${declaration.name.text.replace(/^Index|Options$/g, '').toUpperCase()}DEFAULTS`;
    const inScope = this.#checker.getSymbolsInScope(declaration, ts.SymbolFlags.Variable);
    const defaults = inScope.find(({ name }) => name.replaceAll('_', '') === wanted);
    if (defaults === undefined) return null;
    const type = this.#checker.getTypeOfSymbol(this.#checker.getExportSymbolOfSymbol(defaults));
    return new Map(
      this.#checker.getPropertiesOfType(type).map((one) => {
        const value = this.#checker.typeToString(this.#checker.getTypeOfSymbol(one));
        return [one.name, value.replace(/^"(.*)"$/, "'$1'")];
      }),
    );
  }

  /** The public methods and fields of a class, static ones first. */
  #memberLines(name, declaration) {
    const parameters = constructorsOf(declaration).flatMap((made) =>
      made.parameters.filter((one) => ts.isParameterPropertyDeclaration(one, one.parent)),
    );
    const shown = [
      ...parameters,
      ...this.#membersAbove(declaration),
      ...declaration.members,
    ].filter((one) => one.name && isPublic(one));
    const isStatic = (one) => (ts.getCombinedModifierFlags(one) & ts.ModifierFlags.Static) !== 0;
    const members = [...shown.filter(isStatic), ...shown.filter((one) => !isStatic(one))];
    const lines = [];
    const options = [];
    for (const member of members) {
      const symbol = this.#checker.getSymbolAtLocation(member.name);
      if (!ts.isMethodDeclaration(member) && this.#options.get(name)?.has(symbol.name)) {
        options.push(`\`${symbol.name}\``);
        continue;
      }
      const text = firstParagraph(this.#checker, symbol);
      if (text === '') this.problems.push(`${name}.${symbol.name}: no comment`);
      const head = `${isStatic(member) ? `${name}.` : ''}${memberHead(member)}`;
      lines.push([symbol.name, `- \`${oneLine(head)}\`: ${firstSentence(text)}`]);
    }
    const methods = members.filter((one) => ts.isMethodDeclaration(one));
    const fields = options.length === 0 ? [] : [`- ${options.join(', ')}: as the options say`];
    const rest = this.#newLines(name, lines);
    return [...fields, ...rest, '', ...this.#methodLines(name, methods)];
  }

  /** The members of the class of ours that one extends. */
  #membersAbove({ heritageClauses: [clause] = [] }) {
    const above = clause && this.#checker.getTypeAtLocation(clause.types[0].expression).symbol;
    const declared = above?.declarations.find(ts.isClassDeclaration);
    return declared?.members.filter((one) => !ts.isConstructorDeclaration(one)) ?? [];
  }

  #methodLines(name, methods) {
    const lines = [];
    for (const method of methods) {
      for (const type of this.#optionTypes(method)) {
        const label = method.name.getText();
        if (this.#shown.has(type.symbolName)) continue;
        this.#shown.set(type.symbolName, label);
        lines.push(`Options of \`${label}\`:`, '');
        lines.push(...this.optionLines(`${name}.${label}`, type.fields), '');
      }
    }
    return lines;
  }

  /** The `@example` lines, behind an import of what they name; or where another example uses it. */
  #example(name, symbol) {
    const lines = this.#exampleLines(symbol);
    if (lines === undefined) {
      const other = [...this.#node].find(([, one]) => {
        return this.#namesIn(this.#exampleLines(one) ?? []).includes(name);
      });
      if (other === undefined) this.problems.push(`${name}: no @example, and in no other one`);
      return other === undefined ? [] : [`Example: [${other[0]}](#${other[0].toLowerCase()}).`];
    }
    const imports = lines.filter((line) => line.startsWith('import '));
    const used = this.#namesIn(lines).sort();
    const importOf = (from, module) => {
      return from.length === 0 ? [] : [`import { ${from.join(', ')} } from '${module}';`];
    };
    return code([
      ...imports,
      ...importOf(
        used.filter((one) => this.#index.has(one)),
        'halfspace',
      ),
      ...importOf(
        used.filter((one) => !this.#index.has(one)),
        'halfspace/node',
      ),
      ...lines.filter((line) => !imports.includes(line)),
    ]);
  }

  #exampleLines(symbol) {
    const tag = symbol.getJsDocTags(this.#checker).find((one) => one.name === 'example');
    return tag && ts.displayPartsToString(tag.text).trim().split('\n');
  }

  /** The exported values that lines of code name. */
  #namesIn(lines) {
    const names = new Set(lines.join('\n').match(/\b[A-Za-z]\w*/g));
    return [...names].filter((one) => this.#node.has(one));
  }
}

/** Up to the first full stop, that of an abbreviation aside. */
const firstSentence = (text) => text.split(/(?<=[.!?])\s+(?=[A-Z\d`'])/)[0];

const code = (lines) => ['```ts', ...lines, '```'];

function firstParagraph(checker, symbol) {
  const text = ts.displayPartsToString(symbol.getDocumentationComment(checker));
  return oneLine(text.split(/\n\s*\n/)[0]).trim();
}

/** A declaration without its comment and its body. */
function headOf(declaration) {
  const text = declaration.getText();
  const { body } = declaration;
  return body ? text.slice(0, body.getStart() - declaration.getStart()).trim() : text;
}

const constructorsOf = ({ members }) => members.filter((one) => ts.isConstructorDeclaration(one));

function constructorOf(declaration) {
  const [made] = constructorsOf(declaration);
  const name = declaration.name.text;
  const generics = declaration.typeParameters?.map((one) => one.name.text).join(', ');
  const head = `${name}${generics === undefined ? '' : `<${generics}>`}`;
  if (made === undefined || !isPublic(made)) return `class ${head}`;
  const parameters = made.parameters.map((one) => one.getText().replace(/^readonly /, ''));
  return oneLine(`new ${head}(${parameters.join(', ')})`).replaceAll(/\/\*\*.*?\*\/ ?/g, '');
}

function parentName(field) {
  const parent = (field.valueDeclaration ?? field.declarations?.[0])?.parent;
  return parent !== undefined && ts.isInterfaceDeclaration(parent) ? parent.name.text : undefined;
}

/** Not private, and not marked `@internal`: those are for other parts of the library. */
function isPublic(member) {
  const { Private, Protected, Override } = ts.ModifierFlags;
  if (ts.getCombinedModifierFlags(member) & (Private | Protected | Override)) return false;
  if (ts.getJSDocTags(member).some((tag) => tag.tagName.text === 'internal')) return false;
  return member.name === undefined || ts.isIdentifier(member.name);
}

function memberHead(member) {
  const text = oneLine(headOf(member)).replace(/^((static|async|readonly|override|get) |\*)+/, '');
  return ts.isGetAccessor(member) ? text.replace('()', '') : text.replace(/;$/, '');
}
