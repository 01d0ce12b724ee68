import type { PathCondition } from '../site/condition.js'
import { secondsOf } from './headers.js'
import type { ServerContext } from './rewrites.js'
import type { Scope } from './scope.js'

/** A location with the requests that it serves. */
interface Cached {
  readonly scope: Scope
  readonly region: PathCondition
  readonly field: string
}

/** Statuses of a `proxy_cache_valid` that names none. */
const USUAL = [200, 301, 302]

/** Adds cache rules for the locations of a server, if one of them has a `proxy_cache`. */
export function addCacheRules(locations: readonly Cached[], { sheet, report }: ServerContext): void {
  if (!locations.some(({ scope }) => isCached(scope))) return
  for (const { scope, region, field } of locations) {
    const directive = scope.one('proxy_cache')
    const [place] = [directive?.place ?? scope.directives[0]?.place]
    const when = region(field)
    if (place === undefined) continue
    if (!isCached(scope)) {
      sheet.add(
        'http_request_cache_settings',
        { when, action: 'set_cache_settings', action_parameters: { cache: false } },
        place,
        'no proxy_cache',
      )
      continue
    }
    for (const name of ['proxy_cache_bypass', 'proxy_no_cache'])
      for (const { args, place: at } of scope.all(name))
        report.add(at, `${name} ${args.join(' ')}`, 'write a rule of http_request_cache_settings with `cache: false`')
    const valid = scope.all('proxy_cache_valid')
    const status_code_ttl = valid.flatMap(({ args }): object[] => {
      const seconds = secondsOf(args.at(-1) ?? '')
      const statuses = args.slice(0, -1)
      if (seconds === undefined) return []
      if (statuses.includes('any')) return [{ status_code_range: { from: 100, to: 599 }, value: seconds }]
      return (statuses.length === 0 ? USUAL : statuses.map(Number)).map((status_code) => ({
        status_code,
        value: seconds,
      }))
    })
    const edge = status_code_ttl.length > 0 && { edge_ttl: { mode: 'respect_origin', status_code_ttl } }
    sheet.add(
      'http_request_cache_settings',
      { when, action: 'set_cache_settings', action_parameters: { cache: true, ...edge } },
      place,
      `proxy_cache ${directive?.args[0]}`,
    )
  }
}

const isCached = (scope: Scope): boolean => ![undefined, 'off'].includes(scope.value('proxy_cache'))
