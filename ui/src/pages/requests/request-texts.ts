import { quoted } from './request-filters.ts'
import type { RequestDetail } from './types.ts'

/** Returns an expression for requests like one: the same path, from the same agent or else the same address. */
export function ruleFor({
  host,
  path,
  agent,
  client_ip: ip,
}: Pick<RequestDetail, 'host' | 'path' | 'agent' | 'client_ip'>): string {
  const client = agent === null ? `ip.src eq ${ip}` : `edged.agent.name eq ${quoted(agent)}`
  return `http.host eq ${quoted(host)} and http.request.uri.path eq ${quoted(path)} and ${client}`
}

const CACHE_TEXTS: Readonly<Record<string, string>> = {
  HIT: 'sent from the cache',
  MISS: 'not in the cache, so the origin was asked',
  EXPIRED: 'too old in the cache, so the origin was asked',
  STALE: 'an old response, because the origin failed or is slow',
  UPDATING: 'an old response, while the origin is asked',
  REVALIDATED: 'the origin said that the old response is still right',
  BYPASS: 'the response, or a rule, forbids the cache to store it',
  DYNAMIC: 'not stored unless a rule says so',
}

/** Returns a status of the cache with its meaning, or with why the cache did not answer. */
export function cacheText(status: string | null, reason: string | null): string {
  if (status === null) return reason ?? 'no part in it'
  const text = reason ?? CACHE_TEXTS[status]
  return text === undefined ? status : `${status}: ${text}`
}

/** Fields that curl writes itself, or that would ask for something else. */
const OWN = new Set(['host', 'content-length', 'accept-encoding'])

const shellQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** Returns a command that sends a request again, with the fields that are kept. */
export function asCurl({
  method,
  scheme,
  host,
  path,
  query,
  fields,
}: Pick<RequestDetail, 'method' | 'scheme' | 'host' | 'path' | 'query' | 'fields'>): string {
  const verb = method === 'GET' ? [] : method === 'HEAD' ? ['-I'] : ['-X', shellQuoted(method)]
  const sent = Object.entries(fields.request)
    .filter(([name]) => !OWN.has(name))
    .flatMap(([name, value]) => ['-H', shellQuoted(`${name}: ${value}`)])
  return ['curl', '-i', ...verb, shellQuoted(`${scheme}://${host}${path}${query}`), ...sent].join(' ')
}
