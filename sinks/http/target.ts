import { Type, type Static } from 'typebox'
import { plainHttpAdvice } from '../contract/allowing.js'
import { paramChecker, reject, type ParamSchema } from '../contract/params.js'
import type { SinkDeps } from '../contract/sink-type.js'
import { TRANSPORT, transportOf } from '../streams/server.js'

/** How to connect, as parameters of a destination that are not sent. */
export const TLS = TRANSPORT

/** Parameters of every HTTP destination. They are sent as headers. */
const HEADERS = { '^header_': Type.String({ description: 'header_NAME=VALUE: sends the header NAME.' }) }

/**
 * Returns the parameter schema for the manual of a destination, with its own parameters, parameters that it sends, and
 * headers.
 */
export const httpParams = (own: ParamSchema, sent: ParamSchema): ParamSchema => ({
  ...Type.Object({ ...own.properties, ...sent.properties }),
  patternProperties: HEADERS,
})

/** The URL and the headers of requests. */
export interface Target {
  readonly url: URL
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** If false, any certificate is accepted. */
  readonly verify: boolean
}

/** A target, and the parameters that the sink does not send. */
export interface OwnTarget<S extends ParamSchema> extends Target {
  readonly own: Static<S>
}

/** Headers that the request itself decides. */
const RESERVED =
  /^(host|connection|keep-alive|upgrade|te|trailer|expect|content-length|content-encoding|transfer-encoding|proxy-.*)$/

/**
 * Returns a function that reads a destination that is an HTTP URL with another scheme. Parameters `header_NAME=value`
 * become headers. Parameters of the schema `own` are removed. All others stay in the URL unchanged. Credentials before
 * the host become Basic authentication. Throws InvalidInput with the pointer "".
 */
export function targetReader<S extends ParamSchema>(
  own: S,
): (destination: URL, deps: Pick<SinkDeps, 'allowPlainHttp' | 'egress'>) => OwnTarget<S> {
  const check = paramChecker(own)
  return (destination, deps) => {
    const { headers, taken, query } = partsOf(destination, Object.keys(own.properties))
    const values = check(taken)
    const { protocol, hostname: host, port } = destination
    const server = { host, port: Number(port || (protocol === 'http:' ? 80 : 443)) }
    const { tls, rejectUnauthorized } = transportOf(values, deps, [server])
    const scheme = destination.protocol === 'http:' || !tls ? 'http' : 'https'
    if (scheme === 'http' && !deps.allowPlainHttp) reject(`must use TLS; ${plainHttpAdvice(deps, [server])}`)
    if (destination.username !== '' || destination.password !== '') {
      if (headers['authorization'] !== undefined) reject('has both credentials and header_Authorization')
      headers['authorization'] = basic(decoded(destination.username), decoded(destination.password))
    }
    return {
      url: addressOf(scheme, destination, query && `?${query}`),
      headers,
      verify: rejectUnauthorized,
      own: values,
    }
  }
}

/** Splits the query of a destination into headers, parameters that are not sent, and the rest. */
function partsOf(destination: URL, own: readonly string[]) {
  const headers: Record<string, string> = {}
  const taken: [name: string, value: string][] = []
  const rest: string[] = []
  for (const part of destination.search.slice(1).split('&')) {
    const equals = part.indexOf('=')
    const name = decoded(equals < 0 ? part : part.slice(0, equals))
    const value = equals < 0 ? '' : part.slice(equals + 1)
    if (name.startsWith('header_')) addHeader(headers, name.slice('header_'.length), decoded(value))
    else if (own.includes(name)) taken.push([name, decoded(value)])
    else rest.push(part)
  }
  return { headers, taken, query: rest.join('&') }
}

// Parsed again as http or https, because only these schemes recognize addresses such as 2130706433.
function addressOf(scheme: string, { host, pathname }: URL, search: string): URL {
  const text = `${scheme}://${host}${pathname || '/'}${search}`
  if (host === '' || !URL.canParse(text)) reject('has no host')
  const url = new URL(text)
  if (url.port === '0') reject('has port 0')
  return url
}

function addHeader(headers: Record<string, string>, name: string, value: string): void {
  const key = name.toLowerCase()
  if (!/^[!#$%&'*+.^_`|~0-9a-z-]{1,128}$/.test(key)) reject('has a parameter header_* with a malformed name')
  if (RESERVED.test(key)) reject(`sets the header ${key}, which is not allowed`)
  if (headers[key] !== undefined) reject(`has a duplicate header ${key}`)
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
    reject(`has a header ${key} with a character that headers must not contain`)
  headers[key] = value.trim()
}

const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`

/** Decodes like a form. Clients build these strings with form encoders, which write a space as a plus sign. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return reject('has malformed percent-encoding')
  }
}
