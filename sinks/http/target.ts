import { refuse } from '../params.js'
import type { SinkDeps } from '../sink-type.js'

/** Where requests go, and what goes with each. */
export interface Target {
  readonly url: URL
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** False: any certificate will do. */
  readonly verify: boolean
}

/** A target, and the parameters that the sink takes for itself. */
export interface OwnTarget<N extends string> extends Target {
  readonly own: Readonly<Partial<Record<N, string>>>
}

/** What the request itself decides. */
const RESERVED =
  /^(host|connection|keep-alive|upgrade|te|trailer|expect|content-length|content-encoding|transfer-encoding|proxy-.*)$/

/**
 * Reads a destination that is an address of HTTP with another scheme in front. Parameters `header_NAME=value` become headers,
 * those named in `own` are taken out, `tls=false` and `insecure-skip-verify=true` among them where the operator allows that;
 * all others stay in the URL as they are. Credentials in front of the host become Basic authentication. Throws
 * InvalidInput with the pointer "".
 */
export function target<const N extends string = never>(
  destination: URL,
  deps: Pick<SinkDeps, 'allowPlainHttp'>,
  names: readonly N[] = [],
): OwnTarget<N> {
  const headers: Record<string, string> = {}
  const own: Partial<Record<N, string>> = {}
  const rest: string[] = []
  for (const part of destination.search.slice(1).split('&')) {
    const equals = part.indexOf('=')
    const name = decoded(equals < 0 ? part : part.slice(0, equals))
    const value = equals < 0 ? '' : part.slice(equals + 1)
    const known = names.find((one) => one === name)
    if (name.startsWith('header_')) addHeader(headers, name.slice('header_'.length), decoded(value))
    else if (known === undefined) rest.push(part)
    else if (own[known] !== undefined) refuse(`has the parameter ${known} twice`)
    else own[known] = decoded(value)
  }
  const { tls, 'insecure-skip-verify': careless } = own as Partial<Record<'tls' | 'insecure-skip-verify', string>>
  const scheme = destination.protocol === 'http:' || !flag('tls', tls, true) ? 'http' : 'https'
  const verify = !flag('insecure-skip-verify', careless, false)
  if ((scheme === 'http' || !verify) && !deps.allowPlainHttp)
    refuse('needs TLS and a certificate that fits; the operator allows nothing else')

  if (destination.username !== '' || destination.password !== '') {
    if (headers['authorization'] !== undefined) refuse('has credentials and header_Authorization too')
    headers['authorization'] = basic(decoded(destination.username), decoded(destination.password))
  }
  const query = rest.join('&')
  return { url: addressOf(scheme, destination, query && `?${query}`), headers, verify, own }
}

// Read again as what it is: addresses such as 2130706433 are told from names under http and https only.
function addressOf(scheme: string, { host, pathname }: URL, search: string): URL {
  const text = `${scheme}://${host}${pathname || '/'}${search}`
  if (host === '' || !URL.canParse(text)) refuse('has no host')
  const url = new URL(text)
  if (url.port === '0') refuse('has port 0')
  return url
}

function addHeader(headers: Record<string, string>, name: string, value: string): void {
  const key = name.toLowerCase()
  if (!/^[!#$%&'*+.^_`|~0-9a-z-]{1,128}$/.test(key)) refuse('has a parameter header_* with a malformed name')
  if (RESERVED.test(key)) refuse(`has a header ${key}, which is not for destinations to set`)
  if (headers[key] !== undefined) refuse(`has the header ${key} twice`)
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) refuse(`has a header ${key} with a character that headers cannot have`)
  headers[key] = value.trim()
}

function flag(name: string, value: string | undefined, otherwise: boolean): boolean {
  if (value === undefined || value === '') return otherwise
  if (value !== 'true' && value !== 'false') refuse(`has a parameter ${name} that is neither true nor false`)
  return value === 'true'
}

const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`

/** As forms are decoded: clients build these texts with form encoders, where a space is a plus sign. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return refuse('has malformed percent-encoding')
  }
}
