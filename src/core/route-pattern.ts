/** A parsed route pattern of a Worker. */
export interface RoutePattern {
  /** Undefined for both schemes. */
  readonly scheme?: 'http' | 'https'
  /** Lower case, without a wildcard. */
  readonly host: string
  /**
   * Matching hosts. `one` is this host, `suffix` is all hosts that end in it, and `below` is all hosts below it
   * (`*.example.com`).
   */
  readonly hosts: 'one' | 'suffix' | 'below'
  /** Without a wildcard. Matches any query. */
  readonly path: string
  /** The path, or its beginning. */
  readonly paths: 'one' | 'prefix'
}

const FORM = /^(?:(https?|\*):\/\/)?(\*\.?)?([a-z0-9_.-]*)(\/[^*]*)?(\*)?$/

/**
 * Parses a route: `example.com/path`, `*.example.com/*`, `https://*example.com/images/*`. A wildcard can begin the host
 * and end the pattern. Returns undefined if the text is not a route.
 */
export function routePattern(text: string): RoutePattern | undefined {
  if (text.length > 2048 || /[\s?#]/.test(text)) return undefined
  const slash = text.indexOf('/', text.indexOf('://') < 0 ? 0 : text.indexOf('://') + 3)
  const lower = slash < 0 ? text.toLowerCase() : text.slice(0, slash).toLowerCase() + text.slice(slash)
  const [, scheme, wild, host = '', path = '', tail] = FORM.exec(lower) ?? []
  if (host === '' || /^[.-]|\.\.|[.-]$/.test(host)) return undefined
  // `example.com*` would match other hosts too.
  if (tail !== undefined && path === '') return undefined
  return {
    ...(scheme !== undefined && scheme !== '*' && { scheme: scheme as 'http' | 'https' }),
    host,
    hosts: wild === undefined ? 'one' : wild === '*.' ? 'below' : 'suffix',
    path: path === '' ? '/' : path,
    paths: tail === undefined ? 'one' : 'prefix',
  }
}
