import { allOf, part, PATH, type Condition } from '../site/condition.js'
import type { Place } from '../site/report.js'
import type { RuleSheet } from '../site/rules.js'
import { textsOf, type TemplatePart } from '../site/template.js'
import type { ServerContext } from './rewrites.js'
import type { Directive } from './parse.js'
import type { Scope } from './scope.js'
import { partsOf } from './variables.js'

/** Statuses whose responses get the fields of `add_header` without `always`. */
const USUAL = 'http.response.code in {200 201 204 206 301 302 303 304 307 308}'

/** Fields of requests that edged sets by itself, with the values that mean the same. */
const OWN_FIELDS: Readonly<Record<string, RegExp>> = {
  'x-forwarded-for': /^\$(proxy_add_x_forwarded_for|remote_addr)$/,
  'x-forwarded-proto': /^\$scheme$/,
  'x-forwarded-host': /^\$(host|http_host)$/,
  upgrade: /^\$http_upgrade$/,
  connection: /^("?upgrade"?|\$connection_upgrade|keep-alive|close|)$/i,
  'accept-encoding': /^$/,
  cookie: /^\$http_cookie$/,
  authorization: /^\$http_authorization$/,
}

/** Adds the rules for `proxy_set_header` of a location. `authority`: the host of its origin. Host is set as nginx does. */
export function addRequestFields(
  scope: Scope,
  when: Condition,
  context: ServerContext,
  authority: string,
  place: Place,
): void {
  const { sheet, report } = context
  let host: string | undefined = '$proxy_host'
  let hostPlace = place
  // Fields of a service that decides: `copy` has them, or the report.
  const decided = new Set(scope.all('auth_request_set').map(({ args }) => args[0]))
  for (const directive of scope.all('proxy_set_header')) {
    if (decided.has(directive.args[1])) continue
    const [name = '', value = ''] = directive.args
    const lower = name.toLowerCase()
    if (lower === 'host') {
      host = value
      hostPlace = directive.place
      continue
    }
    if (OWN_FIELDS[lower]?.test(value)) continue
    const what = `proxy_set_header ${name} ${value}`
    if (lower === 'x-real-ip' && value === '$remote_addr') {
      report.add(directive.place, what, 'edged sends the address in CF-Connecting-IP and X-Forwarded-For')
      continue
    }
    if (value === '')
      addRule(sheet, 'http_request_late_transform', when, { [name]: { operation: 'remove' } }, directive.place, what)
    else addField('http_request_late_transform', name, value, 'set', when, context, directive.place, what)
  }
  addHost(host, when, context, authority, hostPlace)
}

function addHost(
  host: string,
  when: Condition,
  { sheet, report, serverName }: ServerContext,
  authority: string,
  place: Place,
): void {
  if (/^\$(host|http_host)$/.test(host)) return
  const name = host === '$proxy_host' ? authority : host === '$server_name' ? serverName : host
  const what = host === '$proxy_host' ? `Host: ${authority}` : `proxy_set_header Host ${host}`
  if (name.includes('$'))
    return report.add(place, what, 'the Host for the origin is a constant or the host of the request')
  sheet.add('http_request_origin', { when, action: 'route', action_parameters: { host_header: name } }, place, what)
}

/** Returns the directives that change header fields of responses of a block. */
export const responseDirectives = (scope: Scope): Directive[] =>
  ['add_header', 'proxy_hide_header', 'expires'].flatMap((name) => scope.all(name))

/** Adds the rules for `add_header`, `proxy_hide_header` and `expires` of a location. */
export function addResponseFields(scope: Scope, when: Condition, context: ServerContext): void {
  const { sheet, report } = context
  for (const { args, place } of scope.all('add_header')) {
    const [name = '', value = '', always] = args
    if (value === '') continue
    const statuses = always === 'always' ? when : allOf(when, part(USUAL))
    addField(
      'http_response_headers_transform',
      name,
      value,
      'add',
      statuses,
      context,
      place,
      `add_header ${name} ${value}`,
    )
  }
  for (const { args, place } of scope.all('proxy_hide_header'))
    addRule(
      sheet,
      'http_response_headers_transform',
      when,
      { [args[0] ?? '']: { operation: 'remove' } },
      place,
      `proxy_hide_header ${args[0]}`,
    )
  const expires = scope.one('expires')
  if (!expires || expires.args[0] === 'off') return
  const what = `expires ${expires.args.join(' ')}`
  const control = cacheControl(expires.args)
  if (control === undefined) return report.add(expires.place, what, 'only times, max and epoch are carried over')
  addRule(
    sheet,
    'http_response_headers_transform',
    allOf(when, part(USUAL)),
    { 'Cache-Control': { operation: 'set', value: control }, Expires: { operation: 'remove' } },
    expires.place,
    what,
  )
}

/** Returns the Cache-Control of an `expires`. HTTP/1.1 ignores Expires beside it (RFC 9111, 5.3). */
function cacheControl([first = '', second]: readonly string[]): string | undefined {
  if (second !== undefined) return undefined
  if (first === 'epoch' || first.startsWith('-')) return 'no-cache'
  if (first === 'max') return 'max-age=315360000'
  const seconds = secondsOf(first)
  return seconds === undefined ? undefined : `max-age=${seconds}`
}

const UNITS: Readonly<Record<string, number>> = {
  y: 31_536_000,
  M: 2_592_000,
  w: 604_800,
  d: 86_400,
  h: 3600,
  m: 60,
  s: 1,
  '': 1,
}

/** Returns a time such as `1h30m` in seconds. Undefined if it is not a time. */
export function secondsOf(text: string): number | undefined {
  if (!/^(\d+(ms|[yMwdhms])?)+$/.test(text)) return undefined
  let seconds = 0
  for (const [, count, unit = ''] of text.matchAll(/(\d+)(ms|[yMwdhms])?/g))
    seconds += unit === 'ms' ? Number(count) / 1000 : Number(count) * UNITS[unit]!
  return Math.ceil(seconds)
}

/** $uri is the decoded path. */
const decoded = (each: TemplatePart): TemplatePart =>
  'expression' in each && each.expression === PATH ? { expression: `url_decode(${PATH})` } : each

function addField(
  phase: string,
  name: string,
  value: string,
  operation: 'add' | 'set',
  when: Condition,
  { sheet, report, constants, serverName }: ServerContext,
  place: Place,
  what: string,
): void {
  const parts = partsOf(value, { constants, serverName })
  const texts = typeof parts === 'string' ? undefined : textsOf(parts.map(decoded))
  if (texts === undefined)
    return report.add(place, what, `the rules language has no ${typeof parts === 'string' ? parts : 'such text'}`)
  for (const { when: also, ...text } of texts)
    addRule(sheet, phase, allOf(when, also), { [name]: { operation, ...text } }, place, what)
}

function addRule(sheet: RuleSheet, phase: string, when: Condition, headers: object, place: Place, what: string): void {
  sheet.add(phase, { when, action: 'rewrite', action_parameters: { headers } }, place, what)
}
