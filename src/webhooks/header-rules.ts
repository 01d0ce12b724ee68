import type { Issue } from '../core/errors.js'
import type { AuthenticationType } from '../core/model/webhook.js'
import { keyOf } from './signature.js'

/** Maximum number of headers of one webhook. */
export const MAX_HEADERS = 20
export const MAX_KEY_LENGTH = 128
export const MAX_VALUE_LENGTH = 4096
export const MAX_SECRET_LENGTH = 1024

/** RFC 9110, 5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
/** RFC 9110, 5.5, without its obsolete part, because receivers disagree on bytes beyond ASCII. */
const VALUE = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/

/** Fields that the sender or the connection sets. */
const RESERVED: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'user-agent',
  'via',
])
const RESERVED_PREFIXES = ['webhook-', 'proxy-', ':']

/** A header of a request body. Without a value, the stored value is retained. */
export interface HeaderInput {
  readonly key: string
  readonly value?: string | null
}

/** Credentials of a webhook in a request body. */
export interface CredentialsInput {
  readonly authentication_type: AuthenticationType
  readonly headers?: readonly HeaderInput[] | undefined
  readonly signing_secret?: string | undefined
}

/** Stored credentials, for an update. Has values by key in lower case, and whether a signing secret exists. */
export interface Known {
  readonly value: (key: string) => string | undefined
  readonly secret: boolean
}
const NOTHING: Known = { value: () => undefined, secret: false }

const PREFIXES: Partial<Record<AuthenticationType, string>> = { 'Basic Auth': 'Basic ', 'Bearer Auth': 'Bearer ' }

/** Returns the issues of credentials, with pointers into the body. Without `known` every header needs a value. */
export function credentialIssues(input: CredentialsInput, known: Known = NOTHING): Issue[] {
  const { authentication_type: type, headers = [], signing_secret } = input
  return [
    ...headerIssues(headers, known),
    ...(type === 'HMAC-Signing' ? secretIssues(signing_secret, known) : unwantedSecret(type, signing_secret)),
    ...typeIssues(type, headers, known),
  ]
}

function headerIssues(headers: readonly HeaderInput[], known: Known): Issue[] {
  const issues: Issue[] = []
  const seen = new Set<string>()
  for (const [index, { key, value }] of headers.entries()) {
    const name = key.toLowerCase()
    const at = `/headers/${index}`
    if (!TOKEN.test(key)) issues.push({ pointer: `${at}/key`, message: 'is not the name of a header field' })
    else if (RESERVED.has(name) || RESERVED_PREFIXES.some((prefix) => name.startsWith(prefix)))
      issues.push({ pointer: `${at}/key`, message: `${name} is set by the sender itself` })
    else if (seen.has(name)) issues.push({ pointer: `${at}/key`, message: `${name} is given twice` })
    seen.add(name)
    if (typeof value === 'string') {
      if (!VALUE.test(value))
        issues.push({
          pointer: `${at}/value`,
          message: 'must be visible ASCII text, with blanks inside only: no line breaks or other control characters',
        })
    } else if (known.value(name) === undefined)
      issues.push({ pointer: `${at}/value`, message: 'is required, because no value is stored' })
  }
  return issues
}

function typeIssues(type: AuthenticationType, headers: readonly HeaderInput[], known: Known): Issue[] {
  if (type === 'None' || type === 'HMAC-Signing')
    return headers.length === 0 ? [] : [{ pointer: '/headers', message: `${type} takes no headers` }]
  if (type === 'Static Headers')
    return headers.length > 0 ? [] : [{ pointer: '/headers', message: `${type} needs at least one header` }]
  const index = headers.findIndex(({ key }) => key.toLowerCase() === 'authorization')
  const found = headers[index]
  if (!found) return [{ pointer: '/headers', message: `${type} needs an Authorization header` }]
  const prefix = PREFIXES[type] ?? ''
  const value = found.value ?? known.value('authorization')
  return value === undefined || (value.startsWith(prefix) && value.length > prefix.length)
    ? []
    : [{ pointer: `/headers/${index}/value`, message: `must begin with "${prefix}", followed by the credentials` }]
}

const unwantedSecret = (type: AuthenticationType, secret: string | undefined): Issue[] =>
  secret === undefined ? [] : [{ pointer: '/signing_secret', message: `${type} takes no signing secret` }]

function secretIssues(secret: string | undefined, known: Known): Issue[] {
  const pointer = '/signing_secret'
  if (secret === undefined) return known.secret ? [] : [{ pointer, message: 'HMAC-Signing needs a signing secret' }]
  // Libraries disagree on the bytes of other characters. One library takes the low byte of each UTF-16 unit.
  if (!/^[\x20-\x7e]+$/.test(secret))
    return [{ pointer, message: 'must be printable ASCII, or whsec_ followed by base64 for a key of any bytes' }]
  return keyOf(secret) ? [] : [{ pointer, message: 'must have base64 behind whsec_' }]
}
