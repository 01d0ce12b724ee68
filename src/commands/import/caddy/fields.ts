import { allOf, noneOf, part, type Condition } from '../site/condition.js'
import type { Report } from '../site/report.js'
import type { RuleSheet } from '../site/rules.js'
import { textsOf } from '../site/template.js'
import type { Segment } from './parse.js'
import { partsOf, type PlaceholderContext } from './placeholders.js'

interface FieldDeps {
  readonly sheet: RuleSheet
  readonly report: Report
  readonly placeholders: PlaceholderContext
}

/** Fields of requests that edged sends by itself. */
const OWN = new Set(['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host'])

/** Adds the rule for one change of a header field: `[+|-|?|>]NAME [VALUE [REPLACEMENT]]`. */
export function addField(
  of: 'request' | 'response',
  { name: directive, args, place }: Segment,
  when: Condition,
  { sheet, report, placeholders }: FieldDeps,
): void {
  const [given = '', value, replacement] = args
  const what = `${directive} ${args.join(' ')}`
  const sign = /^[+\-?>]/.exec(given)?.[0] ?? ''
  const name = given.slice(sign.length)
  const lower = name.toLowerCase()
  const out = (reason: string) => report.add(place, what, reason)
  if (replacement !== undefined) return out('rules set, add and remove whole values of header fields')
  const phase = of === 'request' ? 'http_request_late_transform' : 'http_response_headers_transform'
  const add = (condition: Condition, change: object) =>
    sheet.add(
      phase,
      { when: condition, action: 'rewrite', action_parameters: { headers: { [name]: change } } },
      place,
      what,
    )
  if (sign === '-') {
    if (name.includes('*')) return out('the name has a star; write one rule for each name')
    return void add(when, { operation: 'remove' })
  }
  if (value === undefined) return out('it has no value')
  if (of === 'request') {
    if (lower === 'host')
      return hostField(value, when, { sheet, report, placeholders }, { name: directive, args, place })
    if (OWN.has(lower)) return undefined
    if (lower === 'x-real-ip') return out('edged sends the address in CF-Connecting-IP and X-Forwarded-For')
  }
  const found = partsOf(value, placeholders)
  const texts = typeof found === 'string' ? undefined : textsOf(found.parts, found.captures)
  if (texts === undefined) return out(`the rules language has no ${typeof found === 'string' ? found : 'such text'}`)
  // A comparison with a missing field is false, whatever it compares.
  const absent = noneOf(part(`len(http.response.headers["${lower}"]) gt 0`))
  for (const { when: also, ...text } of texts)
    add(allOf(when, also, ...(sign === '?' ? [absent] : [])), { operation: sign === '+' ? 'add' : 'set', ...text })
}

function hostField(value: string, when: Condition, { sheet, report }: FieldDeps, { name, args, place }: Segment): void {
  const what = `${name} ${args.join(' ')}`
  if (/^\{(host|hostport|http\.request\.host(port)?)\}$/.test(value)) return
  if (/^\{(upstream_hostport|http\.reverse_proxy\.upstream\.hostport)\}$/.test(value))
    report.add(place, what, 'write a rule of http_request_origin with the name in `host_header`')
  else if (value.includes('{'))
    report.add(place, what, 'the Host for the origin is a constant or the host of the request')
  else
    sheet.add('http_request_origin', { when, action: 'route', action_parameters: { host_header: value } }, place, what)
}
