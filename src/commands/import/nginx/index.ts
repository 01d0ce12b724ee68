import { dirname, isAbsolute, resolve } from 'node:path'
import type { ImportedConfig, ImportedZone } from '../site/model.js'
import type { Report } from '../site/report.js'
import type { Files } from '../site/text-file.js'
import { zoneName } from '../site/addresses.js'
import { secondsOf } from './headers.js'
import { READ, TUNING } from './known.js'
import { limitZones } from './limits.js'
import { NginxReader, type Directive } from './parse.js'
import { Scope } from './scope.js'
import { readServer, zoneOf, type HttpContext, type Server } from './server.js'
import { certificatesOf, redirectTargets } from './https.js'
import { Upstreams } from './upstreams.js'

/** Returns the configuration that serves the sites of an nginx configuration. Throws a SyntaxFault. */
export function importNginx(text: string, file: string, files: Files, report: Report): ImportedConfig {
  const main = new NginxReader(file, files, report).read(text, file)
  // A file of a site, as in sites-enabled, has no `http` around its servers.
  const blocks = main.filter(({ name }) => name === 'http')
  const http = new Scope(blocks.length > 0 ? blocks.flatMap(({ block = [] }) => block) : main)
  for (const { name, place } of main)
    if (['stream', 'mail'].includes(name)) report.add(place, name, 'edged proxies HTTP alone')
  reportUnknown(blocks.length > 0 ? [...main, ...http.directives] : main, report)
  const servers = http.own('server').map((directive) => readServer(directive, http, report))
  const folder = dirname(resolve(file))
  const context: HttpContext = {
    report,
    upstreams: new Upstreams(http.own('upstream'), report),
    limits: limitZones(http.own('limit_req_zone'), report),
    folder,
  }
  const zones = zonesOf(servers, context)
  const addresses = listensOf(servers, report)
  const certificates = certificatesOf(servers, folder, report)
  const secure = servers.some(({ listens }) => listens.some(({ secure }) => secure))
  return {
    about: [`Made from ${file} by edged import nginx. Error pages are those of edged.`],
    listen: addresses.plain,
    ...(secure && { tls: { listen: addresses.secure, ...minVersion(servers), ...certificates } }),
    ...trusted(http, report),
    bodyBytes: bodyLimit(servers, http, report),
    ...timeouts(servers),
    ...accessLog(servers, http, folder, report),
    zones,
  }
}

/** Reports directives that nothing reads, in all blocks. */
function reportUnknown(directives: readonly Directive[], report: Report): void {
  for (const { name, args, block, place } of directives) {
    if (TUNING.has(name) || name === 'stream' || name === 'mail') continue
    if (!READ.has(name)) {
      report.add(place, `${name} ${args.join(' ')}`.trim().slice(0, 100), 'edged import does not know the directive')
      continue
    }
    if (block && name !== 'upstream' && name !== 'http') reportUnknown(block, report)
  }
}

const isSecure = ({ listens }: Server): boolean => listens.some(({ secure }) => secure)

function zonesOf(servers: readonly Server[], context: HttpContext): ImportedZone[] {
  const { report } = context
  const owners = new Map<string, Server>()
  const redirects = new Map(servers.map((server) => [server, redirectTargets(server, servers)]))
  const redirected = new Set([...redirects.values()].flat())
  // A host that has one server with TLS and one without is served by the one with TLS.
  const served = servers
    .filter((server) => redirects.get(server)!.length === 0)
    .toSorted((a, b) => Number(isSecure(b)) - Number(isSecure(a)))
  // nginx serves other hosts with the default server, or the first one.
  const byDefault =
    served.find(({ listens }) => listens.some(({ isDefault }) => isDefault)) ??
    (served.length === servers.length ? served[0] : undefined)
  const names = new Set<string>()
  return served.flatMap((server) => {
    const hostnames = server.hostnames.filter((name) => {
      const owner = owners.get(name)
      if (owner)
        report.add(
          server.place,
          `server_name ${name}`,
          `the server of line ${owner.place.line} has it already; edged serves HTTP and HTTPS of a host from one zone`,
        )
      owners.set(name, owner ?? server)
      return !owner
    })
    if (server === byDefault) hostnames.push('*')
    if (hostnames.length === 0) {
      if (server.hostnames.length === 0)
        report.add(server.place, 'server', 'it has no name that edged can serve, and it is not the default')
      return []
    }
    const zone = zoneOf(server, hostnames, context)
    const settings = redirected.has(server) ? { always_use_https: 'on' } : undefined
    const name = unusedName(zoneName(hostnames), names)
    return [{ ...zone, name, ...(settings && { settings }) }]
  })
}

function unusedName(name: string, names: Set<string>): string {
  let found = name
  for (let count = 2; names.has(found); count++) found = `zone-${count}.${name}`
  names.add(found)
  return found
}

/** Returns the addresses to listen on: the first plain one and the first with TLS. */
function listensOf(servers: readonly Server[], report: Report): { plain: string; secure: string } {
  const found: { plain?: string; secure?: string } = {}
  for (const { listens } of servers)
    for (const { address, port, secure, place } of listens) {
      if (address.startsWith('unix:')) {
        report.add(place, `listen ${address}`, 'the proxy listens on an address and a port')
        continue
      }
      const whole = `${address === '*' || address === '[::]' || !/^[[\d]/.test(address) ? '0.0.0.0' : address}:${port}`
      const kind = secure ? 'secure' : 'plain'
      found[kind] ??= whole
      if (portOf(found[kind]) !== port)
        report.add(
          place,
          `listen ${address}:${port}`,
          `edged has one ${secure ? 'HTTPS' : 'HTTP'} listener, ${found[kind]}`,
        )
    }
  return { plain: found.plain ?? '0.0.0.0:80', secure: found.secure ?? '0.0.0.0:443' }
}

const portOf = (address: string): number => Number(address.slice(address.lastIndexOf(':') + 1))

function minVersion(servers: readonly Server[]): { min_version?: string } {
  const protocols = servers.flatMap(({ scope }) => scope.one('ssl_protocols')?.args ?? [])
  return protocols.length > 0 && protocols.every((name) => name === 'TLSv1.3') ? { min_version: '1.3' } : {}
}

/** nginx allows request bodies of 1 MB if nothing else is said. */
const DEFAULT_BODY = '1m'

function bodyLimit(servers: readonly Server[], http: Scope, report: Report): string {
  const places = [
    http,
    ...servers.map(({ scope }) => scope),
    ...servers.flatMap(({ scope }) => scope.own('location').map(({ block = [] }) => new Scope(block, scope))),
  ]
  const own = places.flatMap((scope) => scope.own('client_max_body_size'))
  const values = own.map(({ args: [text = ''], place }) => ({ bytes: bytesOf(text), text, place }))
  const unlimited = values.some(({ bytes }) => bytes === 0)
  const byDefault = http.value('client_max_body_size') === undefined ? bytesOf(DEFAULT_BODY) : 0
  const most = unlimited ? 0 : Math.max(byDefault, ...values.map(({ bytes }) => bytes))
  for (const { bytes, text, place } of values)
    if (bytes !== most)
      report.add(place, `client_max_body_size ${text}`, 'edged has one limit for all requests, the largest of the file')
  return most === 0 ? '0B' : most % 1_048_576 === 0 ? `${most / 1_048_576}MiB` : `${most}B`
}

const SIZES: Readonly<Record<string, number>> = { k: 1024, m: 1_048_576, g: 1_073_741_824, '': 1 }
const bytesOf = (text: string): number => {
  const [, count = '0', unit = ''] = /^(\d+)([kmg]?)$/i.exec(text) ?? []
  return Number(count) * SIZES[unit.toLowerCase()]!
}

/** The longest time of the file: edged has one for all origins. */
function timeouts(servers: readonly Server[]): Pick<ImportedConfig, 'originTimeouts'> {
  const longest = (name: string) => {
    const scopes = servers.flatMap(({ scope }) => [
      scope,
      ...scope.own('location').map(({ block = [] }) => new Scope(block, scope)),
    ])
    const found = scopes.flatMap((scope) => secondsOf(scope.value(name) ?? '') ?? [])
    return found.length === 0 ? undefined : `${Math.max(...found)}s`
  }
  const [connect, read] = [longest('proxy_connect_timeout'), longest('proxy_read_timeout')]
  const values = {
    ...(connect !== undefined && { connect_timeout: connect }),
    ...(read !== undefined && { headers_timeout: read, body_timeout: read }),
  }
  return Object.keys(values).length === 0 ? {} : { originTimeouts: values }
}

function trusted(http: Scope, report: Report): Pick<ImportedConfig, 'trustedProxies'> {
  const from = http.own('set_real_ip_from').map(({ args }) => args[0] ?? '')
  if (from.length === 0) return {}
  const header = http.one('real_ip_header')
  if (header?.args[0]?.toLowerCase() !== 'x-forwarded-for')
    report.add(
      (header ?? http.own('set_real_ip_from')[0]!).place,
      'real_ip_header',
      'edged reads X-Forwarded-For of `proxy.trusted_proxies`',
    )
  return { trustedProxies: from }
}

function accessLog(
  servers: readonly Server[],
  http: Scope,
  folder: string,
  report: Report,
): Pick<ImportedConfig, 'accessLog'> {
  const given = [http, ...servers.map(({ scope }) => scope)]
    .flatMap((scope) => scope.own('access_log'))
    .filter(({ args }) => args[0] !== 'off')
  const [first] = given
  if (!first) return {}
  const path = first.args[0] ?? ''
  for (const { args, place } of given) {
    if (args[0] !== path) report.add(place, `access_log ${args.join(' ')}`, `edged has one access log, ${path}`)
    const format = args[1]
    if (format !== undefined && format !== 'combined' && !format.includes('='))
      report.add(place, `access_log ${args.join(' ')}`, 'edged writes the format combined, or json')
  }
  if (path.startsWith('syslog:') || path.includes('$')) {
    report.add(first.place, `access_log ${path}`, 'edged writes its access log to a file')
    return {}
  }
  return {
    accessLog: {
      format: 'combined',
      file: path === '/dev/stdout' ? '-' : isAbsolute(path) ? path : resolve(folder, path),
    },
  }
}
