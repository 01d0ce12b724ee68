import { readFileSync } from 'node:fs'
import { globSync } from 'tinyglobby'

/** A fenced block of a page. */
export interface Block {
  readonly page: string
  /** Line of its fence, from 1. */
  readonly line: number
  /** The nearest heading above it; empty for the text above the first one. */
  readonly heading: string
  readonly language: string
  readonly text: string
}

/** How a block is tested. */
export type How =
  /** Options of a daemon: a whole file, or members of one that the page leaves out. */
  | 'config'
  /** A whole pipeline file. */
  | 'pipeline'
  /** The `source` of a pipeline file. */
  | 'source'
  /** Expressions of the rules language, one per line. */
  | 'expressions'
  /** A configuration of Caddy or nginx. */
  | 'server'
  /** Log records, one per line. */
  | 'records'
  /** TypeScript with the result of a call in a comment. */
  | 'library'
  /** Commands, run in a shell beside a daemon. */
  | 'shell'
  /** Scripts of package.json and releases, which other tests or the gate run: their names are checked. */
  | 'scripts'
  /** Run by another test file, which reads the page. */
  | { readonly by: string }
  /** Not run, for this reason. */
  | { readonly not: string }

const STARTED: How = { by: 'test/e2e/getting-started.test.ts' }

/** How the blocks below each heading (`*`: any) are tested, by their language. The first row that fits counts. */
const HOW: readonly (readonly [page: string, heading: string, language: string, how: How])[] = [
  ['README.md', 'Two commands', '', { not: '`npm ci` and `npm cit` are the first steps of the gate' }],
  ['README.md', 'Two commands', 'sh', 'shell'],
  ['README.md', 'In front of your own site', 'yaml', 'config'],
  ['README.md', 'In front of your own site', 'sh', { by: 'test/e2e/docs.test.ts' }],
  ['README.md', 'As a library', 'ts', 'library'],
  ['README.md', 'Working on it', 'sh', 'scripts'],
  ['docs/agents.md', '*', 'yaml', 'config'],
  ['docs/agents.md', '*', 'html', { not: 'a part of a page; test/edge/markdown/hint.test.ts has it' }],
  ['docs/api.md', 'The API', 'sh', 'shell'],
  ['docs/api.md', 'Zones created through the API', 'sh', 'shell'],
  ['docs/cache.md', 'Cache', 'yaml', 'config'],
  ['docs/cache.md', 'Cache', 'sh', 'shell'],
  ['docs/configuration.md', 'Configuration', 'yaml', 'config'],
  ['docs/configuration.md', 'Configuration', 'sh', 'shell'],
  ['docs/front.md', 'HTTPS', 'yaml', 'config'],
  ['docs/front.md', 'Certificates of clients', 'text', 'expressions'],
  ['docs/front.md', 'Behind a TCP load balancer', 'yaml', 'config'],
  ['docs/front.md', 'In place of Caddy or nginx', 'yaml', 'config'],
  ['docs/front.md', 'Behind Caddy or nginx', 'yaml', 'config'],
  ['docs/front.md', 'Behind Caddy or nginx', 'text', 'server'],
  ['docs/front.md', 'Several origins', 'yaml', 'config'],
  ['docs/history.md', 'History', 'yaml', 'config'],
  ['docs/history.md', 'Questions', 'sh', 'shell'],
  ['docs/getting-started.md', 'The demo', '', { not: '`npm ci` and `npm cit` are the first steps of the gate' }],
  ['docs/getting-started.md', 'The demo', 'json', 'records'],
  ['docs/getting-started.md', '1. Get edged', 'text', { not: 'clones the repository and changes global npm packages' }],
  ['docs/getting-started.md', '*', 'sh', STARTED],
  ['docs/getting-started.md', '*', 'text', STARTED],
  ['docs/logpush.md', 'Log push', 'sh', 'shell'],
  ['docs/logpush.md', 'Where logs can go', 'yaml', 'config'],
  ['docs/logpush.md', 'One spool for all machines', 'yaml', 'config'],
  ['docs/markdown.md', 'On the command line', 'sh', 'shell'],
  ['docs/library.md', '*', 'ts', 'library'],
  ['docs/markdown.md', 'As a library', 'ts', 'library'],
  ['docs/cookbook.md', 'Cookbook: what one does with Caddy or nginx', 'sh', 'shell'],
  ['docs/cookbook.md', '*', 'yaml', 'config'],
  ['docs/cookbook.md', '*', 'caddy', { by: 'test/commands/import/cookbook.test.ts' }],
  ['docs/cookbook.md', '*', 'nginx', { by: 'test/commands/import/cookbook.test.ts' }],
  ['docs/moving.md', 'From nginx', 'yaml', 'pipeline'],
  ['docs/moving.md', '*', 'bash', 'shell'],
  ['docs/operations.md', 'Dashboard, `edged top`, metrics and traces', 'yaml', 'config'],
  ['docs/operations.md', 'Backup and restore', 'sh', 'shell'],
  ['docs/operations.md', 'Scheduled backups', 'yaml', 'config'],
  ['docs/operations.md', 'Packages', 'text', 'scripts'],
  [
    'docs/operations.md',
    'In a container',
    'sh',
    { not: 'builds an image, which needs a container runtime and a registry' },
  ],
  ['docs/operations.md', 'Tests and figures', 'sh', 'scripts'],
  ['docs/pipelines.md', 'Pipelines: log files to destinations', 'yaml', 'pipeline'],
  ['docs/pipelines.md', 'Pipelines: log files to destinations', 'sh', 'shell'],
  ['docs/pipelines.md', 'Parquet', 'yaml', 'pipeline'],
  ['docs/pipelines.md', 'Parquet', 'sql', { by: 'test/pipelines/logpush/parquet.test.ts' }],
  [
    'docs/pipelines.md',
    'Transform in JavaScript',
    'js',
    { not: 'a module of a pipeline; tests of transforms have modules that run' },
  ],
  ['docs/pipelines.md', 'Transform in JavaScript', 'yaml', { not: 'its module is the block above, not a file' }],
  ['docs/pipelines.md', 'Routes: several outputs of one read', 'yaml', 'pipeline'],
  ['docs/pipelines.md', 'Reshaping', 'yaml', 'pipeline'],
  ['docs/pipelines.md', 'Source: Kafka', 'yaml', 'source'],
  ['docs/pipelines.md', 'Source: NATS JetStream', 'yaml', 'source'],
  ['docs/pipelines.md', 'Source: S3', 'yaml', 'source'],
  ['docs/pipelines.md', 'Watching records', 'sh', 'shell'],
  ['docs/pipelines.md', 'Sending dead letters again', 'sh', 'shell'],
  ['docs/plugins.md', '*', 'yaml', { by: 'test/e2e/plugins.test.ts' }],
  ['docs/plugins.md', '*', 'js', { by: 'test/e2e/plugins.test.ts' }],
  ['docs/plugins.md', '*', '', { not: 'an error message' }],
  ['docs/reliability.md', 'The simulator', 'sh', 'scripts'],
  ['docs/recipes.md', 'Recipes: one pipeline for each destination, and for logs of other programs', 'sh', 'shell'],
  ['docs/recipes.md', 'The journal of systemd', 'sh', { not: 'needs a machine with systemd' }],
  ['docs/recipes.md', '*', 'yaml', { by: 'test/recipes.test.ts' }],
  ['docs/rules.md', 'Rules', 'sh', 'shell'],
  ['docs/rules.md', 'Error pages', 'sh', { not: 'fetches a page from the internet' }],
  ['docs/webhooks.md', 'Webhooks', 'sh', 'shell'],
  ['docs/workers.md', 'Upload a Worker', 'sh', { by: 'test/e2e/wrangler.test.ts' }],
  ['docs/workers.md', 'Without wrangler', 'sh', 'shell'],
  [
    'docs/workers.md',
    'Traces',
    'js',
    { not: 'it reaches another host; test/daemon/workers/outbound-traces.test.ts sends such a request' },
  ],
]

/** Returns the fenced blocks of a page. */
export function blocksOf(page: string): Block[] {
  const text = readFileSync(page, 'utf8')
  const blocks: Block[] = []
  let heading = ''
  for (const match of text.matchAll(/^#+ ([^\n]*)$|^( *)(`{3,})(\w*)\n(.*?)^\2\3$/gms)) {
    const [, title, indent = '', , language = '', content = ''] = match
    if (title !== undefined) {
      heading = title
      continue
    }
    const line = text.slice(0, match.index).split('\n').length
    const plain = indent === '' ? content : content.replaceAll(new RegExp(`^${indent}`, 'gm'), '')
    blocks.push({ page, line, heading, language, text: plain })
  }
  return blocks
}

/** Every block of the README and the documentation. */
export const BLOCKS: readonly Block[] = ['README.md', ...globSync('docs/*.md').toSorted()].flatMap(blocksOf)

/** Returns how a block is tested; undefined if the table has no row for it. */
export function howOf({ page, heading, language }: Block): How | undefined {
  return HOW.find(([of, below, as]) => of === page && (below === heading || below === '*') && as === language)?.[3]
}

/** Returns the blocks that are tested in this way. */
export const blocksTested = (how: How): Block[] => BLOCKS.filter((block) => howOf(block) === how)
