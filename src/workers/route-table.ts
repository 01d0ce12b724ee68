import { routePattern, type RoutePattern } from '../core/route-pattern.js'

interface Row {
  readonly pattern: RoutePattern
  readonly script: string | undefined
}

/** Routes of a zone. */
export interface RouteTable {
  /**
   * Returns the Worker of the most specific matching route. Null if that route has no Worker. Undefined if no route
   * matches.
   */
  find(scheme: 'http' | 'https', host: string, path: string): string | null | undefined
}

const HOSTS = { one: 2, below: 1, suffix: 0 } as const

/** Compiles routes and skips invalid patterns. `host` must be in lower case, and `path` has no query. */
export function routeTable(routes: Iterable<{ readonly pattern: string; readonly script?: string }>): RouteTable {
  const rows: Row[] = []
  for (const { pattern: text, script } of routes) {
    const pattern = routePattern(text)
    if (pattern) rows.push({ pattern, script })
  }
  rows.sort((a, b) => moreSpecific(a.pattern, b.pattern))
  return {
    find(scheme, host, path) {
      const row = rows.find(({ pattern }) => fits(pattern, scheme, host, path))
      return row && (row.script ?? null)
    },
  }
}

/**
 * Returns a number below 0 if `a` is checked before `b`. The host decides first, and a longer text is checked before a
 * shorter one.
 */
function moreSpecific(a: RoutePattern, b: RoutePattern): number {
  return (
    HOSTS[b.hosts] - HOSTS[a.hosts] ||
    b.host.length - a.host.length ||
    b.path.length - a.path.length ||
    Number(a.paths === 'prefix') - Number(b.paths === 'prefix') ||
    Number(a.scheme === undefined) - Number(b.scheme === undefined)
  )
}

function fits(pattern: RoutePattern, scheme: string, host: string, path: string): boolean {
  if (pattern.scheme !== undefined && pattern.scheme !== scheme) return false
  if (pattern.paths === 'one' ? path !== pattern.path : !path.startsWith(pattern.path)) return false
  if (pattern.hosts === 'one') return host === pattern.host
  if (!host.endsWith(pattern.host)) return false
  return pattern.hosts === 'suffix' || host.charAt(host.length - pattern.host.length - 1) === '.'
}
