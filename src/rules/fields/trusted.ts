import { FIELDS, parseIp, SCHEME, type FieldInfo, type Type, type Value } from '../../expr/index.js'
import { members } from '../../http/accept.js'
import { hyphenedName, type RawHeaders } from '../../http/headers.js'

/** Fields of these groups come from outside the request itself. */
const GROUPS: ReadonlySet<FieldInfo['group']> = new Set(['detection', 'geo'])
const OTHERS = /^cf\.(?:tls_|threat_score$|timings\.client_|edge\.l4\.)/
const SCALARS: ReadonlySet<string> = new Set(['Bool', 'Int', 'Bytes', 'Ip'])

/**
 * The fields that a trusted proxy may send in a header field. These are facts that the proxy has determined and that
 * are not part of the request.
 */
export const VOUCHABLE: readonly string[] = FIELDS.filter(
  ({ name, group, type, aliasOf }) =>
    (GROUPS.has(group) || OTHERS.test(name)) &&
    aliasOf === undefined &&
    name !== 'ip.src' &&
    (SCALARS.has(type.kind) || (type.kind === 'Array' && SCALARS.has((type.of as Type).kind))),
).map(({ name }) => name)

/** Returns the error in a name in `trusted_fields`, or undefined if the name is valid. */
export function trustedFieldIssue(name: string): string | undefined {
  if (VOUCHABLE.includes(name)) return undefined
  return SCHEME.field(name) === undefined
    ? `names no field of the rules language: ${name}`
    : `names a field that no header field can tell: ${name}`
}

interface Source {
  readonly field: string
  readonly header: string
  readonly type: Type
}

const NONE: ReadonlyMap<string, Value> = new Map()

/** The fields of the rules language that header fields of trusted proxies contain. */
export class TrustedFields {
  readonly #sources: readonly Source[]
  readonly #headers: ReadonlySet<string>
  /** Lengths of the header names. The length alone excludes most header names of a request. */
  readonly #lengths: ReadonlySet<number>

  /** `config` has header names by field name. */
  constructor(config: Readonly<Record<string, string>>) {
    this.#sources = Object.entries(config).flatMap(([field, header]) => {
      const type = SCHEME.field(field)?.type
      return type === undefined ? [] : [{ field, header: header.toLowerCase(), type }]
    })
    this.#headers = new Set(this.#sources.map(({ header }) => hyphenedName(header)))
    this.#lengths = new Set(this.#sources.map(({ header }) => header.length))
  }

  /** Whether no header field is for trusted proxies only. */
  get isEmpty(): boolean {
    return this.#sources.length === 0
  }

  /**
   * Returns the values in the header fields of a trusted proxy, by field name. Values of the wrong type are ignored.
   */
  read(headers: RawHeaders): ReadonlyMap<string, Value> {
    if (this.#sources.length === 0) return NONE
    const sent = new Map<string, string[]>()
    for (let at = 0; at + 1 < headers.length; at += 2) {
      const name = headers[at] as string
      if (!this.#has(name)) continue
      const lower = name.toLowerCase()
      const values = sent.get(lower)
      if (values === undefined) sent.set(lower, [headers[at + 1] as string])
      else values.push(headers[at + 1] as string)
    }
    if (sent.size === 0) return NONE
    const values = new Map<string, Value>()
    for (const { field, header, type } of this.#sources) {
      const texts = sent.get(header)
      const value = texts === undefined ? undefined : valueOf(texts, type)
      if (value !== undefined) values.set(field, value)
    }
    return values
  }

  /** Returns the header fields of other senders, without the fields that only trusted proxies may send. */
  strip<T extends RawHeaders>(headers: T): T | string[] {
    if (this.#sources.length === 0) return headers
    for (let at = 0; at < headers.length; at += 2) {
      if (this.#has(headers[at] as string)) return headers.filter((_, i) => !this.#has(headers[i - (i % 2)] as string))
    }
    return headers
  }

  #has(name: string): boolean {
    return this.#lengths.has(name.length) && this.#headers.has(hyphenedName(name))
  }
}

function valueOf(texts: readonly string[], type: Type): Value | undefined {
  // The value of a proxy that appends instead of replacing is last.
  if (type.kind !== 'Array') return scalar(texts.at(-1) as string, type)
  return texts.flatMap((text) => [...members(text)]).flatMap((member) => scalar(member, type.of as Type) ?? [])
}

function scalar(text: string, type: Type): Value | undefined {
  switch (type.kind) {
    case 'Bytes':
      return text
    case 'Int':
      return /^-?[0-9]{1,15}$/.test(text) ? Number(text) : undefined
    case 'Bool': {
      const word = text.toLowerCase()
      return word === 'true' || word === '1' ? true : word === 'false' || word === '0' ? false : undefined
    }
    case 'Ip':
      return parseIp(text)
    default:
      return undefined
  }
}
