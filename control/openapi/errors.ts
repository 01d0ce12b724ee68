import type { Endpoint } from '../http/endpoint.js'
import { ERRORS } from '../http/errors.js'

type Json = Record<string, unknown>

const MEANINGS: Readonly<Record<number, string>> = {
  400: 'Something in the request is not as it must be.',
  401: 'The token is unknown.',
  403: 'The caller is not allowed to do this, or a quota is reached.',
  404: 'The path leads nowhere, or to nothing that exists.',
  409: 'It exists already, is in use, or was changed by another request.',
  412: 'If-Match or If-None-Match does not hold.',
  413: 'The body is too large.',
  415: 'The body is of another content type.',
  429: 'The token has sent more requests than it may.',
  500: 'A fault of the service; `cf-ray` names the request in its log.',
  503: 'The service takes no changes now.',
  507: 'The disk of the service is full.',
}

const name = (status: number): string => `Failed${status}`

/** Returns the error statuses as responses, each with its codes. */
export const ERROR_RESPONSES: Json = Object.fromEntries(
  Object.entries(MEANINGS).map(([status, meaning]) => [
    name(Number(status)),
    {
      description: `${meaning} Codes: ${codes(Number(status))}.`,
      ...(status === '429' && { headers: { 'Retry-After': { schema: { type: 'integer' }, description: 'Seconds.' } } }),
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Failure' } } },
    },
  ]),
)

function codes(status: number): string {
  const rows = Object.values(ERRORS).filter(([, of]) => of === status)
  return [...new Map(rows.map(([code, , message]) => [code, message]))]
    .sort(([a], [b]) => a - b)
    .map(([code, message]) => `${code} (${message})`)
    .join(', ')
}

/** Returns the possible errors of requests to the endpoint, by status. */
export function failures({
  method,
  path,
  scopes,
  permissions,
  body,
  raw,
  conditional,
  verifies,
  open,
}: Endpoint): Json {
  const changes = method !== 'get'
  const statuses = [
    400,
    ...(verifies ? [401] : []),
    ...(open ? [] : [403, 429]),
    ...(path.includes(':') || scopes.some((scope) => scope !== 'daemon') ? [404] : []),
    ...(changes && permissions.length > 0 ? [409, 503, 507] : []),
    ...(raw || conditional ? [412] : []),
    ...(body || raw ? [413, 415] : []),
    500,
  ]
  return Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/${name(status)}` }]))
}
