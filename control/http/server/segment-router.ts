import type Router from '@koa/router'
import type { RequestState } from '../context.js'

/**
 * Makes a router compare a path only with the routes that have the same fixed segments at its beginning. Without this
 * it would compare the path with hundreds of routes. A request still matches the same routes. No routes may be added
 * afterwards.
 */
export function matchBySegments(router: Router<RequestState>): void {
  const keyed = router.stack.map((layer) => ({ layer, key: keyOf(String(layer.path)) }))
  const matcherOf = (wanted: string): Router<RequestState>['match'] => {
    // In their order, which decides between several routes.
    const stack = keyed.flatMap(({ layer, key }) => (key === wanted || key === ANY ? [layer] : []))
    // Matching needs the routes alone.
    const part = Object.create(Object.getPrototypeOf(router) as object, { stack: { value: stack } }) as typeof router
    return (path, method) => part.match(path, method)
  }
  const matchers = new Map(keyed.map(({ key }) => [key, matcherOf(key)]))
  const others = matcherOf(ANY)
  router.match = (path, method) => (matchers.get(keyOf(path)) ?? others)(path, method)
}

/** Key of routes without a fixed segment where others have one. */
const ANY = ''
/** `/client/v4/zones/:zone_id/rulesets`: the positions of the segments that are compared. */
const FIRST = 3
const BELOW_SCOPE = 5
const SCOPES: ReadonlySet<string> = new Set(['accounts', 'zones'])

/** Returns the fixed segments by which a path, of a request or of a route, is found. */
function keyOf(path: string): string {
  const segments = path.split('/', BELOW_SCOPE + 1)
  const first = segments[FIRST] ?? ''
  const key = SCOPES.has(first) ? `${first}/${segments[BELOW_SCOPE] ?? ''}` : first
  return /[:*{]/.test(key) ? ANY : key
}
