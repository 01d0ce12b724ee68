import { secretsOf, shownOf } from './contract/params.js'
import type { SinkType } from './contract/sink-type.js'

const HIDDEN = '***'
/** Hidden for every sink. */
const SECRET = /^header_|secret|token|passw|pwd|credential|(api|access).?key|^key$|^sig(nature)?$|^auth/i

/** Shorter values are not searched for in texts: they occur in them by chance. */
const MIN_SECRET = 4

/** Returns a text of a destination, such as a response, with the secrets of the destination replaced by `***`. */
export function withoutSecrets(text: string, destination: string, type: SinkType | undefined): string {
  const [, query = ''] = destination.split('?', 2)
  const shown = new Set(redacted(destination, type).split('?', 2)[1]?.split('&'))
  const values = query.split('&').flatMap((part) => (shown.has(part) ? [] : [part.slice(part.indexOf('=') + 1)]))
  const { password = '', pathname = '' } = URL.canParse(destination) ? new URL(destination) : {}
  const secrets = [...values, password, ...(type?.secretPath ? [pathname] : [])].flatMap((value) => {
    const read = plain(value)
    // A header has a scheme before its token.
    return [value, read, ...read.split(/\s+/)]
  })
  return secrets
    .filter((secret) => secret.length >= MIN_SECRET)
    .toSorted((one, other) => other.length - one.length)
    .reduce((rest, secret) => rest.replaceAll(secret, HIDDEN), text)
}

/**
 * Returns a destination with its secrets replaced by `***`. Secrets are the credentials before the host and the values
 * of secret or unknown parameters. Accepts any string, and returns `***` for a string that is not a destination.
 */
export function redacted(text: string, type: SinkType | undefined): string {
  const parts = /^([a-z][a-z0-9+.-]*:)(\/\/[^/?#]*)?([^?#]*)(?:\?([^#]*))?/i.exec(text)
  if (type === undefined || parts === null) return HIDDEN
  const secrets = secretsOf(type.params)
  const shown = shownOf(type.params)
  const [, scheme = '', authority = '', path = '', query] = parts
  const place = authority.replace(/^\/\/.*@/, `//${HIDDEN}@`)
  const shownPath = type.secretPath && path.length > 1 ? `/${HIDDEN}` : path
  return `${scheme}${place}${shownPath}${query === undefined ? '' : `?${query.split('&').map(parameter).join('&')}`}`

  function parameter(part: string): string {
    const [name = '', value] = part.split('=', 2)
    // An unescaped value looks like a name.
    if (value === undefined) return type?.shown === undefined ? part : part && HIDDEN
    return hidden(plain(name)) ? `${name}=${HIDDEN}` : part
  }

  function hidden(name: string): boolean {
    if (shown.includes(name)) return false
    if (SECRET.test(name) || secrets.includes(name)) return true
    return type?.shown !== undefined && !type.shown.includes(name)
  }
}

function plain(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}
