import { allOf, part, type Condition } from '../site/condition.js'
import type { Report } from '../site/report.js'
import type { RuleSheet } from '../site/rules.js'
import type { Directive } from './parse.js'
import type { Scope } from './scope.js'

/** The key and the rate of a `limit_req_zone`. */
interface LimitZone {
  readonly key: string
  /** Requests per second. */
  readonly rate: number
}

const DEFAULT_STATUS = 503
const MAX_PERIOD = 86_400

/** Reads `limit_req_zone`, by the name of the zone. */
export function limitZones(directives: readonly Directive[], report: Report): Map<string, LimitZone> {
  const zones = new Map<string, LimitZone>()
  for (const { args, place } of directives) {
    const [key = ''] = args
    const name = args
      .find((arg) => arg.startsWith('zone='))
      ?.slice(5)
      .split(':', 1)[0]
    const [, count, unit] = /^rate=(\d+)r\/([sm])$/.exec(args.find((arg) => arg.startsWith('rate=')) ?? '') ?? []
    const counted = keyOf(key)
    if (name === undefined || count === undefined || counted === undefined)
      report.add(
        place,
        `limit_req_zone ${args.join(' ')}`,
        counted === undefined ? 'edged counts by address, header field or cookie' : 'no zone and rate',
      )
    else zones.set(name, { key: counted, rate: Number(count) / (unit === 'm' ? 60 : 1) })
  }
  return zones
}

/** Returns the characteristics that a limit counts by. */
function keyOf(variable: string): string | undefined {
  if (/^\$\{?(binary_)?remote_addr\}?$/.test(variable)) return 'ip.src'
  if (/^\$\{?(server_name|host|http_host)\}?$/.test(variable)) return 'http.host'
  const [, kind, name = ''] = /^\$\{?(http|cookie|arg)_(\w+)\}?$/.exec(variable) ?? []
  if (kind === 'http') return `http.request.headers["${name.replaceAll('_', '-')}"]`
  if (kind === 'cookie') return `http.request.cookies["${name}"]`
  return kind === 'arg' ? `http.request.uri.args["${name}"]` : undefined
}

/**
 * Adds the limits of a location. nginx lets `burst` requests more than one through at any time, and one more for each interval of
 * the rate: in the time that a whole burst needs to drain, as many requests pass here.
 */
export function addLimits(
  scope: Scope,
  when: Condition,
  zones: ReadonlyMap<string, LimitZone>,
  sheet: RuleSheet,
  report: Report,
): void {
  const status = Number(scope.value('limit_req_status') ?? DEFAULT_STATUS)
  for (const { args, place } of scope.all('limit_req')) {
    const what = `limit_req ${args.join(' ')}`
    const name = args.find((arg) => arg.startsWith('zone='))?.slice(5) ?? ''
    const zone = zones.get(name)
    if (!zone) {
      report.add(place, what, `the zone ${name} does not exist or is not carried over`)
      continue
    }
    const burst = Number(args.find((arg) => arg.startsWith('burst='))?.slice(6) ?? 0)
    const { period, requests } = windowOf(zone.rate, burst + 1)
    const own = status >= 400 && status < 500
    const response = own &&
      status !== 429 && { status_code: status, content_type: 'text/plain', content: 'Too many requests.\n' }
    sheet.add(
      'http_ratelimit',
      {
        when,
        action: 'block',
        ...(response && { action_parameters: { response } }),
        ratelimit: { characteristics: [zone.key], period, requests_per_period: requests, mitigation_timeout: 0 },
      },
      place,
      what,
    )
    if (own) continue
    sheet.add(
      'http_custom_errors',
      {
        when: allOf(when, part('cf.response.error_type eq "ratelimit"')),
        action: 'serve_error',
        action_parameters: { content: 'Too many requests.\n', content_type: 'text/plain', status_code: status },
      },
      place,
      what,
    )
  }
}

/** Returns a period in whole seconds with the requests that a rate and a burst let through in it. */
function windowOf(rate: number, burst: number): { period: number; requests: number } {
  const exact = burst / rate
  const period = Math.min(MAX_PERIOD, Math.max(1, Math.round(exact)))
  return { period, requests: Math.max(1, exact < 1 ? Math.round(rate) : burst) }
}
