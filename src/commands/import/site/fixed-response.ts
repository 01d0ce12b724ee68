import { STATUS_CODES } from 'node:http'
import { allOf, part, type Condition } from './condition.js'
import type { Place } from './report.js'
import type { RuleSheet } from './rules.js'

/** A response that is sent instead of the origin's. */
export interface FixedResponse {
  readonly status: number
  /** By default the page of edged for 403, and a short page for other statuses. */
  readonly body?: string
  readonly type?: string
}

/** The longest bodies that a block rule and an error page can have, in bytes. */
const MAX_BLOCK = 2048
const MAX_PAGE = 10_240
const PAGE_TYPES = ['application/json', 'text/html', 'text/plain', 'text/xml']

/**
 * Adds rules that respond with an error. Returns why there are none. A block rule sends statuses of 4xx, and a rule for error pages
 * replaces its response for 5xx.
 */
export function respond(
  sheet: RuleSheet,
  when: Condition,
  { status, body, type = 'text/plain' }: FixedResponse,
  place: Place,
  what: string,
): string | undefined {
  if (status < 400) return `edged has no rule that responds with ${status}; let an origin, a Worker or a file respond`
  if (status === 403 && body === undefined) {
    sheet.add('http_request_firewall_custom', { when, action: 'block' }, place, what)
    return undefined
  }
  const content = body === undefined || body === '' ? page(status) : body
  const contentType = body === undefined || body === '' ? 'text/html' : type
  if (status < 500) {
    if (Buffer.byteLength(content) > MAX_BLOCK) return `the body has more than ${MAX_BLOCK} bytes`
    const response = { status_code: status, content_type: contentType, content }
    sheet.add('http_request_firewall_custom', { when, action: 'block', action_parameters: { response } }, place, what)
    return undefined
  }
  if (Buffer.byteLength(content) > MAX_PAGE) return `the body has more than ${MAX_PAGE} bytes`
  const plain = contentType.split(';', 1)[0]!
  const content_type = PAGE_TYPES.includes(plain) ? plain : 'text/plain'
  sheet.add('http_request_firewall_custom', { when, action: 'block' }, place, what)
  sheet.add(
    'http_custom_errors',
    {
      when: allOf(when, part('cf.response.error_type eq "waf"')),
      action: 'serve_error',
      action_parameters: { content, content_type, status_code: status },
    },
    place,
    what,
  )
  return undefined
}

const page = (status: number): string => {
  const title = `${status} ${STATUS_CODES[status] ?? ''}`.trim()
  return `<!doctype html>\n<title>${title}</title>\n<h1>${title}</h1>\n`
}
