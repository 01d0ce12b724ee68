import { Type } from 'typebox'
import { strict } from '../../core/schema.js'
import { action } from '../action.js'
import { MANAGED_REQUEST_PHASES } from './phase-groups.js'

const MAX_BYTES = { http_request_firewall_custom: 2048, other: 30_720 } as const

export const block = action({
  name: 'block',
  summary: 'Responds instead of the origin: with 403, in rate limits with 429, or with `response`.',
  phases: [
    'magic_transit',
    'magic_transit_ratelimit',
    'http_request_firewall_custom',
    'http_ratelimit',
    'http_request_firewall_managed',
    'http_request_sbfm',
  ],
  managedPhases: [...MANAGED_REQUEST_PHASES, 'http_response_firewall_managed'],
  optional: true,

  params: Type.Object(
    {
      response: Type.Optional(
        Type.Object(
          {
            status_code: Type.Integer({ minimum: 400, maximum: 499 }),
            content_type: Type.String({
              maxLength: 255,
              pattern: '^[\\w.+-]+/[\\w.+-]+( *; *[\\w.+-]+=([\\w.+-]+|"[\\w .+/-]*"))*$',
              description: 'A media type, as in application/json.',
              'x-message': 'must be a media type, as in application/json',
            }),
            content: Type.String({
              minLength: 1,
              description: 'The body: 2,048 bytes at most in http_request_firewall_custom, 30,720 elsewhere.',
            }),
          },
          strict,
        ),
      ),
    },
    strict,
  ),

  check({ response }, { phase }) {
    const max = phase.name === 'http_request_firewall_custom' ? MAX_BYTES[phase.name] : MAX_BYTES.other
    if (!response || Buffer.byteLength(response.content) <= max) return []
    return [{ pointer: '/response/content', message: `must not be longer than ${max} bytes in ${phase.name}` }]
  },

  prepare({ response }, { place }) {
    if (response) {
      const { status_code: status, content_type: type, content } = response
      const body = Buffer.from(content)
      return ({ exceeded }) => ({
        kind: 'response',
        status,
        headers: responseHeaders(type, exceeded?.retryAfter),
        body,
      })
    }
    const limits = place.phase.name === 'http_ratelimit'
    return ({ exceeded }) =>
      limits || exceeded
        ? { kind: 'page', status: 429, reason: 'rate_limited', retryAfter: exceeded?.retryAfter }
        : { kind: 'page', status: 403, reason: 'access_denied' }
  },

  examples: [
    { phase: 'http_request_firewall_custom', params: {} },
    {
      phase: 'http_ratelimit',
      params: { response: { status_code: 429, content_type: 'application/json', content: '{"error":"too many"}' } },
    },
  ],
})

const responseHeaders = (type: string, retryAfter: number | undefined): string[] => [
  'content-type',
  type,
  'cache-control',
  'no-store',
  ...(retryAfter === undefined ? [] : ['retry-after', String(retryAfter)]),
]
