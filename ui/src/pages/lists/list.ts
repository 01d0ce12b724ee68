import type { Source } from '../../api/types.ts'
import { yamlOf } from '../../parts/yaml.ts'

/** Permission to change lists. */
export const WRITE = 'Account Filter Lists Write'

export type ListKind = 'ip' | 'asn' | 'hostname' | 'redirect'

/** A list as the API returns it. */
export interface List {
  readonly id: string
  readonly name: string
  readonly kind: ListKind
  readonly description: string
  readonly num_items: number
  readonly num_referencing_filters: number
  readonly modified_on: string
  readonly edged_source: Source | null
}

export const KINDS: readonly (readonly [kind: ListKind, name: string, hint: string])[] = [
  ['ip', 'IP addresses', '192.0.2.7, 192.0.2.0/24 or 2001:db8::/32'],
  ['asn', 'AS numbers', '64496'],
  ['hostname', 'Host names', 'www.example.com or *.example.com'],
  ['redirect', 'Redirects', 'https://example.com/old https://example.com/new 301'],
]

export const kindName = (kind: ListKind): string => KINDS.find(([name]) => name === kind)?.[1] ?? kind

/** An item as the API returns it. */
export interface Item {
  readonly id: string
  readonly comment?: string
  readonly ip?: string
  readonly asn?: number
  readonly hostname?: { readonly url_hostname: string }
  readonly redirect?: { readonly source_url: string; readonly target_url: string; readonly status_code?: number }
  readonly created_on: string
}

/** An item as people read it. */
export function itemText({ ip, asn, hostname, redirect }: Omit<Item, 'id' | 'created_on'>): string {
  if (redirect) return `${redirect.source_url} → ${redirect.target_url} (${redirect.status_code ?? 301})`
  return ip ?? (asn === undefined ? (hostname?.url_hostname ?? '') : String(asn))
}

/** Returns an item without the members that the service sets. */
export function plainItem({ id: _id, created_on: _created, ...rest }: Item): object {
  const { modified_on: _modified, ...item } = rest as object as { modified_on?: string }
  return item
}

/** Returns a list of the API as an item of `lists` in the configuration file. */
export const listYaml = ({ name, kind }: Pick<List, 'name' | 'kind'>, items: readonly Item[]): string =>
  yamlOf([{ name, kind, items: items.map(plainItem) }])

/** Returns items of pasted lines. A text behind `#` is the comment. Lines that do not fit stay texts, so the API names them. */
export function itemsOf(kind: ListKind, text: string): readonly object[] {
  return text.split('\n').flatMap((line) => {
    const at = line.indexOf(' #')
    const comment = at < 0 ? '' : line.slice(at + 2).trim()
    const value = (at < 0 ? line : line.slice(0, at)).trim().replace(/,$/, '')
    if (value === '' || value.startsWith('#')) return []
    return [{ ...itemOf(kind, value), ...(comment !== '' && { comment }) }]
  })
}

function itemOf(kind: ListKind, value: string): object {
  if (kind === 'ip') return { ip: value }
  if (kind === 'asn') {
    const digits = value.replace(/^AS/i, '')
    return { asn: /^\d+$/.test(digits) ? Number(digits) : value }
  }
  if (kind === 'hostname') return { hostname: { url_hostname: value } }
  const [source = '', target = '', status] = value.split(/[\s,]+/)
  return {
    redirect: { source_url: source, target_url: target, ...(status !== undefined && { status_code: Number(status) }) },
  }
}
