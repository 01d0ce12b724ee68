import type { SinkType } from './sink-type.js'

const HIDDEN = '***'
/** Hidden whatever the sink says. */
const SECRET = /^header_|secret|token|passw|pwd|credential|api.?key|access-key|^key$|^sig(nature)?$|^auth/i

/**
 * A destination with what is secret in it replaced by `***`: credentials in front of the host, and the values of parameters
 * that are secret, or not known to be harmless. Takes any text; of what is no destination it shows nothing.
 */
export function redacted(text: string, type: SinkType | undefined): string {
  const parts = /^([a-z][a-z0-9+.-]*:)(\/\/[^/?#]*)?([^?#]*)(?:\?([^#]*))?/i.exec(text)
  if (type === undefined || parts === null) return HIDDEN
  const [, scheme = '', authority = '', path = '', query] = parts
  const place = authority.replace(/^\/\/.*@/, `//${HIDDEN}@`)
  const shownPath = type.secretPath && path.length > 1 ? `/${HIDDEN}` : path
  return `${scheme}${place}${shownPath}${query === undefined ? '' : `?${query.split('&').map(parameter).join('&')}`}`

  function parameter(part: string): string {
    const [name = '', value] = part.split('=', 2)
    // A value that was not escaped looks like a name.
    if (value === undefined) return type?.shown === undefined ? part : part && HIDDEN
    return hidden(plain(name)) ? `${name}=${HIDDEN}` : part
  }

  function hidden(name: string): boolean {
    if (SECRET.test(name) || type?.secrets?.includes(name)) return true
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
