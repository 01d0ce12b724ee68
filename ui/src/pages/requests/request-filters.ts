/** Filters of requests as the address has them, and the expression of the rules language that means the same. */
export const FILTERS = ['q', 'status', 'method', 'cache', 'agent', 'host', 'path', 'ip', 'country', 'markdown'] as const
export type FilterName = (typeof FILTERS)[number]
export type Filters = Partial<Record<FilterName, string>>

const RAY = /^([0-9a-f]{16})(-[A-Z]{3})?$/i
const IP = /^(\d{1,3}(\.\d{1,3}){3}|[0-9a-f]*:[0-9a-f:.]+)(\/\d{1,3})?$/i
const CLASS = /^([1-5])xx$/

/** Returns the id of a request if a text is one. Ids in responses may have a place behind them. */
export const rayOf = (text: string): string | undefined => RAY.exec(text.trim())?.[1]?.toLowerCase()

/** Returns a text as a string of the rules language. */
export const quoted = (text: string): string => `"${text.replace(/["\\]/g, '\\$&')}"`

const equals =
  (field: string) =>
  (value: string): string =>
    `${field} eq ${quoted(value)}`

const anyOf = (parts: readonly string[]): string => (parts.length === 1 ? parts[0]! : `(${parts.join(' or ')})`)

function ofStatus(value: string): string {
  const found = CLASS.exec(value)
  if (!found) return `http.response.code eq ${Number(value) || 0}`
  const first = Number(found[1]) * 100
  return `(http.response.code ge ${first} and http.response.code lt ${first + 100})`
}

const ofIp = (value: string): string => (value.includes('/') ? `ip.src in {${value}}` : `ip.src eq ${value}`)

/** A search finds addresses and parts of paths. */
const ofSearch = (text: string): string => (IP.test(text) ? ofIp(text) : `http.request.uri contains ${quoted(text)}`)

const PARTS: Readonly<Record<FilterName, (value: string) => string>> = {
  q: (value) => ofSearch(value.trim()),
  status: (value) => anyOf(value.split(',').map(ofStatus)),
  method: equals('http.request.method'),
  cache: (value) => `any(http.response.headers["cf-cache-status"][*] eq ${quoted(value)})`,
  agent: equals('edged.agent.name'),
  host: equals('http.host'),
  path: equals('http.request.uri.path'),
  ip: ofIp,
  country: equals('ip.src.country'),
  markdown: () => 'any(http.response.headers["content-type"][*] contains "text/markdown")',
}

/** Returns the filters as one expression. Undefined without filters. */
export function expressionOf(filters: Filters): string | undefined {
  const parts = FILTERS.flatMap((name) => {
    const value = filters[name]
    return value === undefined || value.trim() === '' ? [] : [PARTS[name](value)]
  })
  return parts.length === 0 ? undefined : parts.join(' and ')
}

/** Returns what remains of a list of statuses, or what it becomes, after a click on one of them. */
export function toggled(list: string | undefined, value: string): string | undefined {
  const old = list === undefined || list === '' ? [] : list.split(',')
  const next = old.includes(value) ? old.filter((one) => one !== value) : [...old, value]
  return next.length === 0 ? undefined : next.toSorted().join(',')
}
