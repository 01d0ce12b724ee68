import type { PhaseName } from '../phases.js'

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/

/** Describe one connection, not the message (RFC 9110, 7.6.1), or how its body is framed. */
const HOP_BY_HOP = new Set([
  'connection',
  'content-length',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** The edge sends the client's identity in these. */
const VISITOR = new Set(['forwarded', 'true-client-ip', 'x-forwarded-for', 'x-forwarded-proto', 'x-real-ip'])

/** Returns why a rule must not change a header in this way. Undefined if it may. */
export function headerRefusal(name: string, operation: 'add' | 'set' | 'remove', phase: PhaseName): string | undefined {
  const lower = name.toLowerCase()
  if (!TOKEN.test(name)) return 'is not a valid header name'
  if (lower === 'cf-connecting-ip' && operation === 'remove') return undefined
  if (lower.startsWith('cf-') || lower.startsWith('x-cf-'))
    return 'headers that begin with cf- or x-cf- cannot be changed'
  if (HOP_BY_HOP.has(lower)) return `${lower} belongs to the connection and cannot be changed`
  if (lower === 'host') return 'host cannot be changed here; use host_header of the route action'
  if (operation === 'remove') return undefined
  if (VISITOR.has(lower)) return `${lower} tells the address of the visitor and cannot be set`
  if (lower === 'cookie' && phase !== 'http_response_headers_transform') return 'cookie can only be removed'
  return undefined
}
