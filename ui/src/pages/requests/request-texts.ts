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
