import type { OriginEntry, Target } from '../site/model.js'
import type { Report } from '../site/report.js'
import type { Segment } from './parse.js'

/** A `reverse_proxy`, with the subdirectives that rules carry over. */
export interface Proxied {
  readonly target: Target
  readonly fields: readonly { readonly segment: Segment; readonly of: 'request' | 'response' }[]
  /** The certificate of the origin is not checked. */
  readonly unverified: boolean
}

/** Subdirectives that tune connections, or whose effect edged has without an option. */
const TUNING = new Set([
  'flush_interval',
  'buffer_requests',
  'buffer_responses',
  'max_buffer_size',
  'trusted_proxies',
  'stream_timeout',
  'stream_close_delay',
  'lb_try_interval',
  'request_buffers',
  'response_buffers',
])
const TRANSPORT = new Set([
  'tls',
  'dial_timeout',
  'keepalive',
  'keepalive_interval',
  'keepalive_idle_conns',
  'keepalive_idle_conns_per_host',
  'read_buffer',
  'write_buffer',
  'compression',
  'max_conns_per_host',
  'versions',
  'tls_timeout',
])
const POLICIES: Readonly<Record<string, string>> = {
  random: 'round_robin',
  random_choose: 'least_requests',
  round_robin: 'round_robin',
  least_conn: 'least_requests',
  ip_hash: 'client_address',
  client_ip_hash: 'client_address',
}

/** Reads a `reverse_proxy`. Undefined, after a line in the report, if no upstream can be used. */
export function proxied(segment: Segment, args: readonly string[], report: Report): Proxied | undefined {
  const { block = [], place, name } = segment
  const fields: { segment: Segment; of: 'request' | 'response' }[] = []
  const health: Record<string, string> = {}
  const upstreams = [...args]
  let secure = false
  let unverified = false
  let balance: string | undefined
  let first = false
  let retries: number | undefined
  for (const each of block) {
    const [value = ''] = each.args
    const out = (reason: string) => report.add(each.place, `${each.name} ${each.args.join(' ')}`.trim(), reason)
    if (each.name === 'to') upstreams.push(...each.args)
    else if (each.name === 'header_up' || each.name === 'header_down')
      fields.push({ segment: each, of: each.name === 'header_up' ? 'request' : 'response' })
    else if (each.name === 'lb_policy') {
      first = value === 'first'
      const [, argument = ''] = each.args
      balance = POLICIES[value] ?? (value === 'header' ? `header:${argument}` : undefined)
      if (balance === undefined && !first)
        out('edged balances by turn, requests in flight, address, header field or cookie; requests go round')
    } else if (each.name === 'lb_retries') retries = Number(value)
    else if (each.name === 'health_uri' || each.name === 'health_path') health['path'] = value
    else if (each.name === 'health_interval') health['interval'] = value
    else if (each.name === 'health_timeout') health['timeout'] = value
    else if (each.name === 'health_status')
      health['status'] = /^\dxx$/.test(value) ? `${value[0]}00-${value[0]}99` : value
    else if (each.name === 'transport') {
      if (value !== 'http') out('edged speaks HTTP to origins')
      for (const inner of each.block ?? []) {
        if (inner.name === 'tls' || inner.name.startsWith('tls_')) secure = true
        if (inner.name === 'tls_insecure_skip_verify') unverified = true
        else if (!TRANSPORT.has(inner.name))
          report.add(
            inner.place,
            `${inner.name} ${inner.args.join(' ')}`.trim(),
            'edged has no such option of one origin',
          )
      }
    } else if (!TUNING.has(each.name)) out('edged has no such option of origins')
  }
  const origins = upstreams.flatMap((upstream) => originsOf(upstream, secure) ?? reported(report, segment, upstream))
  if (origins.length === 0) {
    if (upstreams.length === 0) report.add(place, name, 'it names no upstream')
    return undefined
  }
  const entries: OriginEntry[] = origins.map((url, index) => ({ url, ...(first && index > 0 && { backup: true }) }))
  const target: Target = {
    ...(entries.length === 1 ? { origin: entries[0]!.url } : { origins: entries }),
    ...(balance !== undefined && balance !== 'round_robin' && { balance }),
    ...(Object.keys(health).length > 0 && { health: { path: '/', ...health } }),
    ...(retries !== undefined && retries <= 10 && { retries }),
  }
  return { target, fields, unverified }
}

function reported(report: Report, { place, name }: Segment, upstream: string): [] {
  report.add(place, `${name} ${upstream}`, 'edged connects to http://host:port, https://host:port and unix sockets')
  return []
}

/** Returns the URLs of an upstream address, several for a range of ports. */
function originsOf(upstream: string, secure: boolean): string[] | undefined {
  if (upstream.includes('{') || upstream.startsWith('srv+') || upstream.startsWith('h2c://')) return undefined
  const socket = /^unix\/(\/.*)$/.exec(upstream)
  if (socket) return [`unix:${socket[1]}`]
  const [, scheme, address = upstream] = /^(https?):\/\/([^/]+)\/?$/.exec(upstream) ?? []
  if (address.includes('/')) return undefined
  const range = /^(.*):(\d+)-(\d+)$/.exec(address)
  const addresses = range ? portsOf(Number(range[2]), Number(range[3])).map((port) => `${range[1]}:${port}`) : [address]
  const whole = addresses.map((each) => (each.startsWith(':') ? `localhost${each}` : each))
  const isSecure = scheme === 'https' || secure || whole[0]!.endsWith(':443')
  return whole.map(
    (each) => `${isSecure ? 'https' : 'http'}://${isSecure && scheme === undefined ? each.replace(/:443$/, '') : each}`,
  )
}

/** Ports of one range that become origins. */
const MAX_PORTS = 256

function portsOf(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, Math.min(to - from + 1, MAX_PORTS)) }, (_, index) => from + index)
}
