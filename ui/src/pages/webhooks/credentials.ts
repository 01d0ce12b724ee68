import type { Webhook } from './webhook.ts'

/** How deliveries authenticate, with the names that users read. */
export const TYPES = [
  ['HMAC-Signing', 'Signature (recommended)'],
  ['Bearer Auth', 'Bearer token'],
  ['Basic Auth', 'User and password'],
  ['Static Headers', 'Header fields'],
  ['None', 'None'],
] as const

export const SECRET_NAMES: Readonly<Record<string, string>> = {
  'Basic Auth': 'Password',
  'Bearer Auth': 'Token',
  'HMAC-Signing': 'Signing secret',
}

/** What the form has about authentication. */
export interface Credentials {
  readonly type: string
  readonly user: string
  readonly secret: string
  /** `x-key: value` a line. */
  readonly headers: string
}

/** Base64 of the UTF-8 bytes (RFC 7617). */
const base64 = (text: string): string => btoa(String.fromCharCode(...new TextEncoder().encode(text)))

/** Returns the header fields of lines such as `x-key: value`. A line without a value keeps the stored one. */
const headersOf = (text: string): { key: string; value?: string }[] =>
  text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const at = line.indexOf(':')
      if (at < 0) return { key: line.trim() }
      const value = line.slice(at + 1).trim()
      return { key: line.slice(0, at).trim(), ...(value !== '' && { value }) }
    })

/** Returns the members of a webhook that authenticate it. What is empty stays as it is stored. */
export function credentialsOf({ type, user, secret, headers }: Credentials, webhook: Webhook | undefined): object {
  if (type === 'Static Headers') return { headers: headersOf(headers) }
  if (type === 'None') return {}
  if (webhook?.authentication_type === type && secret === '')
    return type === 'HMAC-Signing' ? {} : { headers: webhook.headers ?? [] }
  if (type === 'HMAC-Signing') return { signing_secret: secret }
  const value = type === 'Basic Auth' ? `Basic ${base64(`${user}:${secret}`)}` : `Bearer ${secret}`
  return { headers: [{ key: 'Authorization', value }] }
}
