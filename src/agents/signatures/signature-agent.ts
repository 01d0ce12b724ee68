import { isInnerList, parseItem, type Dictionary, type Item } from 'structured-headers'
import { dictionaryOf } from './message.js'

/** Where the keys of a signer are. */
export interface AgentDirectory {
  /** The address of the key set. */
  readonly url: string
  /** Scheme and host of the signer. */
  readonly origin: string
  /** Host and, unless it is the default, port. */
  readonly host: string
  /** directory: the key set has the media type of directories. jwks_uri: any JSON. */
  readonly type: 'directory' | 'jwks_uri'
}

const PATH = '/.well-known/http-message-signatures-directory'
const MAX_URL = 2048

/**
 * Returns the directory that `Signature-Agent` names for the signature with this label. `components` are the components that the
 * signature covers. Undefined if the field names none that can be used.
 */
export function directoryOf(field: string, label: string, components: readonly Item[]): AgentDirectory | undefined {
  const item = field.startsWith('"') ? bareString(field) : memberOf(dictionaryOf(field), label, components)
  if (item === undefined) return undefined
  const [value, parameters] = item
  const type = parameters.get('type') ?? 'directory'
  const name = typeof type === 'object' && !(type instanceof Date) ? String(type) : type
  if (typeof value !== 'string' || value.length > MAX_URL || (name !== 'directory' && name !== 'jwks_uri'))
    return undefined
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (url?.protocol !== 'https:' || url.username !== '' || url.password !== '' || url.hash !== '') return undefined
  const { origin, host } = url
  if (name === 'jwks_uri') return { url: url.href, origin, host, type: name }
  if (url.pathname !== '/' || url.search !== '') return undefined
  return { url: origin + PATH, origin, host, type: name }
}

/** The form of earlier versions: one String. */
function bareString(field: string): Item | undefined {
  try {
    return parseItem(field)
  } catch {
    return undefined
  }
}

/** Returns the covered member whose key is the label, else the only covered one. */
function memberOf(members: Dictionary | undefined, label: string, components: readonly Item[]): Item | undefined {
  const keys = components.flatMap(([name, parameters]) => {
    const key = parameters.get('key')
    return name === 'signature-agent' && typeof key === 'string' ? [key] : []
  })
  const key = keys.includes(label) ? label : keys.length === 1 ? keys[0] : undefined
  const member = key === undefined ? undefined : members?.get(key)
  return member === undefined || isInnerList(member) ? undefined : member
}
