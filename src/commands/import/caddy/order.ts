import type { Segment } from './parse.js'

/** The order in which Caddy runs directives of a block, whatever their order in the file. */
const ORDER = [
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
  'acme_server',
]
const RANK = new Map(ORDER.map((name, index) => [name, index]))
/** `handle` and `handle_path` exclude each other and have one rank. */
RANK.set('handle_path', RANK.get('handle')!)
RANK.set('basic_auth', RANK.get('basicauth')!)

/** A directive with what its place depends on. */
interface Ranked {
  readonly segment: Segment
  readonly rank: number
  /** The matcher as written. */
  readonly token: string | undefined
}

/** Returns the directives of a block in the order in which Caddy runs them. */
export function inOrder(segments: readonly Segment[], tokenOf: (segment: Segment) => string | undefined): Segment[] {
  const sorted: Ranked[] = []
  // Caddy compares neighbours, and the comparison is not transitive: a path and another matcher keep their order.
  for (const segment of segments) {
    const ranked = { segment, rank: RANK.get(segment.name) ?? ORDER.length, token: tokenOf(segment) }
    let at = sorted.length
    while (at > 0 && isBefore(ranked, sorted[at - 1]!)) at--
    sorted.splice(at, 0, ranked)
  }
  return sorted.map(({ segment }) => segment)
}

/** Lower ranks come first, then longer paths, then directives with a matcher. */
function isBefore(a: Ranked, b: Ranked): boolean {
  if (a.rank !== b.rank) return a.rank < b.rank
  if (a.token?.startsWith('/') === true && b.token?.startsWith('/') === true) return weight(a.token) > weight(b.token)
  return a.token !== undefined && b.token === undefined
}

/** The length of a path. The same path without a star is longer. */
const weight = (path: string): number => path.replace(/\*$/, '').length + (path.endsWith('*') ? 0 : 0.5)
