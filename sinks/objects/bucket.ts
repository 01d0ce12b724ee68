import type { SinkDeps } from '../sink-type.js'
import { refuse, type Params } from '../params.js'

/** The bucket that a destination names. Throws InvalidInput for what cannot be one. */
export function bucketOf(destination: URL): string {
  const { host, hostname, username, password } = destination
  if (username !== '' || password !== '') refuse('has a user name; keys are parameters')
  if (host !== hostname) refuse('has a port where the bucket stands')
  if (!BUCKET.test(hostname) || hostname.includes('..'))
    refuse('names no bucket: 2 to 222 letters, digits, dots, dashes and underscores')
  return hostname
}

/** S3 allows less (63 lower-case characters) than its older buckets and its kin have. */
const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{1,221}$/

/** A region becomes a part of a host name. */
export function regionOf(region: string | undefined): string {
  if (region === undefined) refuse('needs the parameter region')
  if (!/^[a-z0-9-]{2,32}$/.test(region)) refuse('has a parameter region that is none')
  return region
}

type Keys = Params<'access-key-id' | 'secret-access-key'>

/** The keys of a destination; undefined where it has none. Throws InvalidInput where it has one of two. */
export function keysOf(given: Keys): { accessKeyId: string; secretAccessKey: string } | undefined {
  const { 'access-key-id': accessKeyId, 'secret-access-key': secretAccessKey } = given
  if (accessKeyId === undefined && secretAccessKey === undefined) return undefined
  if (accessKeyId === undefined || secretAccessKey === undefined)
    refuse('needs both access-key-id and secret-access-key')
  return { accessKeyId, secretAccessKey }
}

/**
 * The server that the parameter `endpoint` names, as an origin: a host and maybe a port, or a URL without a path. Plain
 * HTTP only as `http://` and where the operator allows it.
 */
export function endpointOf(endpoint: string, deps: Pick<SinkDeps, 'allowPlainHttp'>): string {
  const text = /^https?:\/\//i.test(endpoint) ? endpoint : `https://${endpoint}`
  const url = URL.canParse(text) ? new URL(text) : refuse('has a parameter endpoint that is no host')
  const { pathname, search, hash, username, password } = url
  if (pathname !== '/' || search !== '' || hash !== '' || username !== '' || password !== '')
    refuse('has a parameter endpoint that is more than a host')
  if (url.protocol === 'http:' && !deps.allowPlainHttp) refuse('has a parameter endpoint without TLS')
  return url.origin
}
