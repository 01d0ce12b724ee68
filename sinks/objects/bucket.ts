import { Type } from 'typebox'
import { plainHttpAdvice } from '../contract/allowing.js'
import { reject, secret, text } from '../contract/params.js'
import type { SinkDeps } from '../contract/sink-type.js'

/** The bucket that a destination names. Throws InvalidInput for an impossible name. */
export function bucketOf(destination: URL): string {
  const { host, hostname, username, password } = destination
  if (username !== '' || password !== '') reject('has a user name; use access-key-id and secret-access-key')
  if (host !== hostname) reject('has a port after the name of the bucket')
  if (!BUCKET.test(hostname) || hostname.includes('..'))
    reject('has an invalid bucket name; use 1 to 222 letters, digits, dots, dashes and underscores')
  return hostname
}

/** S3 allows less (63 lower-case characters) than its older buckets and similar servers have. */
const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{0,221}$/

/** A region becomes a part of a host name. */
export const REGION = text('AWS region, for example eu-central-1.', {
  pattern: '^[a-z0-9-]{2,32}$',
  'x-message': 'is not an AWS region; use a value such as eu-central-1',
})

export const ACCESS_KEYS = {
  'access-key-id': Type.Optional(secret('Access key. Default: the credentials of the daemon, if it has any.')),
  'secret-access-key': Type.Optional(secret('Secret of the access key.')),
}

export const ENDPOINT = Type.Optional(text('Another server with the same API: HOST, HOST:PORT or http(s)://HOST.'))

type Keys = { readonly 'access-key-id'?: string; readonly 'secret-access-key'?: string }

/** Returns the keys of a destination. Undefined if it has none. Throws InvalidInput if only one of the two is set. */
export function keysOf(given: Keys): { accessKeyId: string; secretAccessKey: string } | undefined {
  const { 'access-key-id': accessKeyId, 'secret-access-key': secretAccessKey } = given
  if (accessKeyId === undefined && secretAccessKey === undefined) return undefined
  if (accessKeyId === undefined || secretAccessKey === undefined)
    reject('needs both access-key-id and secret-access-key')
  return { accessKeyId, secretAccessKey }
}

/**
 * Returns the origin of the server that the parameter `endpoint` names. The parameter is a host with an optional port,
 * or a URL without a path. Plain HTTP needs `http://` and the permission of the operator.
 */
export function endpointOf(endpoint: string, deps: Pick<SinkDeps, 'allowPlainHttp' | 'egress'>): string {
  const text = /^https?:\/\//i.test(endpoint) ? endpoint : `https://${endpoint}`
  const url = URL.canParse(text) ? new URL(text) : reject('has an endpoint that is not a host')
  const { pathname, search, hash, username, password } = url
  if (pathname !== '/' || search !== '' || hash !== '' || username !== '' || password !== '')
    reject('has an endpoint with more than a host and a port')
  if (url.protocol === 'http:' && !deps.allowPlainHttp)
    reject(
      `has an endpoint without TLS; ${plainHttpAdvice(deps, [{ host: url.hostname, port: Number(url.port || 80) }])}`,
    )
  return url.origin
}
