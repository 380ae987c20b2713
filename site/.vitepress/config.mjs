// The site: the pages of docs/ as they are, the READMEs that they link to, and the pages of this folder.
// A link to any other file of the repository leads to a copy of it in the site, so that no link needs
// to know where the repository is; a link to nothing ends the build.

import { copyFileSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';
import { figuresText } from '../figures.mjs';
import { INDEXES } from '../indexes.mjs';

const site = fileURLToPath(new URL('..', import.meta.url));
const root = resolve(site, '..');
// Files that pages link to, besides those that every site has.
process.env.VITE_EXTRA_EXTENSIONS = 'arrow,jsonl';
const NODE_STAND_IN = join(site, 'demo/node-stand-in.mjs');

const PAGE = /^(docs\/[^/]+|site\/[^/]+|(bench|datasets|datasets\/\w+)\/README|CHANGELOG)\.md$/;

/** Where a page of the repository is on the site. `docs/index.md` is a guide, not the home. */
function pageOf(path) {
  if (path === 'docs/index.md') return 'codes-and-index.md';
  return path.replace(/^(docs|site)\//, '').replace(/README\.md$/, 'index.md');
}

const docs = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'));

/** Files that pages link to, by their paths in the repository. */
const linked = new Set();

/** The address on the site of a link in a page. */
function addressOf(href, page) {
  if (/^([a-z]+:|\/|#)/i.test(href)) return href;
  const [, link, hash] = /^([^#]*)(.*)$/.exec(href);
  const path = relative(root, resolve(root, dirname(page), decodeURI(link)));
  if (path.startsWith('..') || !existsSync(join(root, path))) {
    throw new Error(`${page} links to ${href}, which is not there`);
  }
  if (PAGE.test(path)) return `/${pageOf(path)}${hash}`;
  linked.add(path);
  return `/files/${path}`;
}

function fitPages(markdown) {
  markdown.core.ruler.push('fit-pages', ({ tokens, env }) => {
    const page = relative(root, env.realPath ?? env.path);
    // A header without a name is none.
    for (const [i, { type }] of tokens.entries()) {
      if (type !== 'th_open' || tokens[i + 1].content !== '') continue;
      tokens[i].tag = 'td';
      tokens[i + 2].tag = 'td';
    }
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      if (token.type === 'link_open') token.attrSet('href', addressOf(token.attrGet('href'), page));
    }
  });
}

/** The anchor of a heading as GitHub makes it, which the links in docs/ use. */
const slugify = (text) =>
  text
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-');

/** What readers import of Node, and files that read what no one can drop: folders, addresses, .npy. */
const NOT_DROPPED = /^node:|^\.\/(npy|shards|web-source)$/;

/**
 * The page that reads a dropped file runs the readers of src/formats, which were written for Node:
 * what it cannot have, or does not need, comes from a small stand-in.
 */
const readersInBrowser = {
  name: 'readers-in-browser',
  enforce: 'pre',
  resolveId: (source, importer) =>
    NOT_DROPPED.test(source) && importer?.startsWith(join(root, 'src/'))
      ? { id: NODE_STAND_IN, syntheticNamedExports: 'others' }
      : undefined,
};

/** The page on performance ends with the figures of the last run of the benches. */
const benchFigures = {
  name: 'bench-figures',
  enforce: 'pre',
  transform: (code, id) =>
    id === join(root, 'docs/performance.md') ? code + figuresText() : undefined,
};

const guide = [
  { text: 'Near-duplicate texts', link: '/text' },
  { text: 'Pairs, groups, clusters', link: '/groups' },
  { text: 'Codes and the index', link: '/codes-and-index' },
  { text: 'The command', link: '/command' },
  { text: 'The page: map and review', link: '/explore' },
  { text: 'Spark', link: '/spark' },
];
const reference = [
  { text: 'API', link: '/api' },
  { text: 'Performance', link: '/performance' },
  { text: 'Files and formats', link: '/format' },
  { text: 'Reliability', link: '/reliability' },
];
const tryIt = [
  { text: 'Search without a server', link: '/try-search' },
  { text: 'Duplicates in your file', link: '/try-file' },
];

/** A plane cut in two. */
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="8"
 fill="#b3bdff"/><path d="M13.7 2.3A8 8 0 1 1 2.3 13.7z" fill="#2f3fa8"/></svg>`;

export default defineConfig({
  title: 'halfspace',
  description: 'Near-duplicates, nearest neighbours and clusters, in Node and browsers.',
  lang: 'en',
  head: [['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(ICON)}` }]],
  srcDir: '..',
  srcExclude: ['.*/**', 'src/**', 'test/**', 'scripts/**', 'python/**', 'README.md'],
  outDir: 'dist',
  rewrites: pageOf,
  markdown: {
    config: fitPages,
    anchor: { slugify },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Guide', link: '/text' },
      { text: 'API', link: '/api' },
      { text: 'Performance', link: '/performance' },
      { text: 'Try it', items: tryIt },
    ],
    sidebar: [
      { text: 'Try it', items: tryIt },
      { text: 'Guide', items: guide },
      { text: 'Reference', items: reference },
      {
        text: 'Project',
        items: [
          { text: 'Changes', link: '/CHANGELOG' },
          { text: 'Contributing', link: '/contributing' },
          { text: 'Benchmarks', link: '/bench/' },
          { text: 'Data sets', link: '/datasets/' },
        ],
      },
    ],
  },
  vite: {
    publicDir: join(site, 'public'),
    plugins: [readersInBrowser, benchFigures],
    build: { target: 'es2022', minify: 'terser' },
    define: { INDEXES: JSON.stringify(INDEXES.filter(({ folder }) => isBuilt(folder))) },
  },
  buildEnd({ outDir }) {
    for (const path of linked) copyInto(join(outDir, 'files'), path);
    // For programs that read text: llms.txt, and the pages that it names.
    copyFileSync(join(site, 'llms.txt'), join(outDir, 'llms.txt'));
    for (const name of docs) copyInto(outDir, `docs/${name}`);
  },
});

function copyInto(folder, path) {
  const target = join(folder, path);
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(join(root, path), target);
}

function isBuilt(folder) {
  return existsSync(join(site, 'public', folder, 'manifest.json'));
}
