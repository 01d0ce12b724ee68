import type { Segment } from './parse.js'

/** The order in which Caddy runs directives of a block, whatever their order in the file. */
const ORDER = [
  ...[
    'tls',
    'log',
    'bind',
    'handle_errors',
    'tracing',
    'map',
    'vars',
    'root',
    'skip_log',
    'log_skip',
    'header',
    'request_body',
    'redir',
  ],
  ...[
    'method',
    'rewrite',
    'uri',
    'try_files',
    'basicauth',
    'basic_auth',
    'forward_auth',
    'request_header',
    'encode',
    'push',
  ],
  ...[
    'templates',
    'handle',
    'handle_path',
    'route',
    'abort',
    'error',
    'respond',
    'metrics',
    'reverse_proxy',
    'php_fastcgi',
    'file_server',
  ],
  'acme_server',
]
const RANK = new Map(ORDER.map((name, index) => [name, index]))
/** `handle` and `handle_path` exclude each other and have one rank. */
RANK.set('handle_path', RANK.get('handle')!)
RANK.set('basic_auth', RANK.get('basicauth')!)

/** Returns the directives of a block in the order in which Caddy runs them. */
export function inOrder(segments: readonly Segment[], pathOf: (segment: Segment) => string | undefined): Segment[] {
  return segments
    .map((segment, index) => ({ segment, index, rank: RANK.get(segment.name) ?? ORDER.length, path: pathOf(segment) }))
    .toSorted((a, b) => a.rank - b.rank || weight(b.path) - weight(a.path) || a.index - b.index)
    .map(({ segment }) => segment)
}

/** Longer paths come first, then other matchers, then directives without a matcher. */
function weight(path: string | undefined): number {
  if (path === undefined) return -1
  return path.startsWith('/') ? path.replace(/\*$/, '').length + (path.endsWith('*') ? 0 : 0.5) : 0
}
