import { dirname, resolve } from 'node:path'
import { hostnameOf, zoneName } from '../site/addresses.js'
import type { ImportedConfig, ImportedZone } from '../site/model.js'
import type { Report } from '../site/report.js'
import type { Files } from '../site/text-file.js'
import { SiteCompiler } from './site.js'
import type { SiteContext } from './zone-draft.js'
import { CaddyReader, type Segment } from './parse.js'
import { tlsOf } from './https.js'

/** An address of a site. */
interface Address {
  /** `*` for every host. */
  readonly host: string
  readonly secure: boolean
  readonly port: number
}

const GLOBAL = new Set([
  'debug',
  'admin',
  'grace_period',
  'shutdown_delay',
  'storage',
  'persist_config',
  'order',
  'http_port',
  'https_port',
  'email',
  'auto_https',
  'acme_ca',
  'local_certs',
  'on_demand_tls',
  'servers',
  'log',
  'default_sni',
  'acme_ca_root',
  'default_bind',
  'skip_install_trust',
])

/** Returns the configuration that serves the sites of a Caddyfile. Throws a SyntaxFault. */
export function importCaddy(
  text: string,
  file: string,
  files: Files,
  report: Report,
  environment = process.env,
): ImportedConfig {
  const { options, sites } = new CaddyReader(files, report, environment).read(text, file)
  const option = (name: string) => options.find((each) => each.name === name)
  for (const { name, args, place } of options)
    if (!GLOBAL.has(name))
      report.add(place, `${name} ${args.join(' ')}`.trim(), 'edged import does not know the option')
  const httpPort = Number(option('http_port')?.args[0] ?? 80)
  const httpsPort = Number(option('https_port')?.args[0] ?? 443)
  const automatic = option('auto_https')?.args[0]
  const folder = dirname(resolve(file))
  const listens: { plain?: string; secure?: string } = {}
  const owners = new Map<string, Segment>()
  const names = new Set<string>()
  const zones: ImportedZone[] = []
  let secureSites = false
  for (const site of sites) {
    const addresses = addressesOf(site, { httpPort, httpsPort, report, isPlain: automatic === 'off' })
    const bind =
      site.block?.find(({ name }) => name === 'bind')?.args[0] ?? option('default_bind')?.args[0] ?? '0.0.0.0'
    for (const { secure, port } of addresses) {
      const kind = secure ? 'secure' : 'plain'
      listens[kind] ??= `${bind.includes(':') ? `[${bind}]` : bind}:${port}`
      if (!listens[kind].endsWith(`:${port}`))
        report.add(site.place, `port ${port}`, `edged has one ${secure ? 'HTTPS' : 'HTTP'} listener, ${listens[kind]}`)
    }
    const hostnames = [...new Set(addresses.map(({ host }) => host))].filter((name) => {
      const owner = owners.get(name)
      if (owner)
        report.add(
          site.place,
          name,
          `the site of line ${owner.place.line} has it already; edged serves HTTP and HTTPS of a host from one zone`,
        )
      owners.set(name, owner ?? site)
      return !owner
    })
    const secure = addresses.some((address) => address.secure)
    secureSites ||= secure
    const redirects = secure && !addresses.some((address) => !address.secure) && automatic !== 'disable_redirects'
    zones.push(
      ...zonesOf(site, hostnames, {
        report,
        environment,
        folder,
        names,
        ...(redirects && { settings: { always_use_https: 'on' } }),
      }),
    )
  }
  return {
    about: [
      `Made from ${file} by edged import caddy. Error pages are those of edged.`,
      'A request that no directive handles gets an error page; Caddy sends an empty response.',
    ],
    listen: listens.plain ?? `0.0.0.0:${httpPort}`,
    ...(secureSites && {
      tls: { listen: listens.secure ?? `0.0.0.0:${httpsPort}`, ...tlsOf(sites, options, folder, report) },
    }),
    ...trusted(option('servers'), report),
    ...bodyLimit(sites, report),
    ...accessLog(sites, folder, report),
    zones,
  }
}

interface ZoneDeps extends Omit<SiteContext, 'host' | 'apart'> {
  readonly names: Set<string>
  readonly settings?: Readonly<Record<string, unknown>>
}

/** Returns the zones of a site: one, and one more for each host that a matcher of it names. */
function zonesOf(site: Segment, hostnames: readonly string[], { names, settings, ...deps }: ZoneDeps): ImportedZone[] {
  if (hostnames.length === 0) return []
  const { block = [], place } = site
  const named = hostsIn(block).filter((host) =>
    hostnames.some((name) => name === host || name === '*' || (name.startsWith('*.') && host.endsWith(name.slice(1)))),
  )
  const apart = new Set(named.length > 1 || hostnames.some((name) => name.includes('*')) ? named : [])
  const rest = hostnames.filter((name) => !apart.has(name))
  const groups = [
    ...[...apart].map((host) => ({ hosts: [host], host })),
    ...(rest.length > 0 ? [{ hosts: rest, host: undefined }] : []),
  ]
  return groups.map(({ hosts, host }) => {
    const compiler = new SiteCompiler({
      ...deps,
      host: host ?? (hosts.length === 1 && !hosts[0]!.includes('*') ? hosts[0] : undefined),
      apart,
    })
    const zone = compiler.compile(block)
    let name = zoneName(hosts)
    for (let count = 2; names.has(name); count++) name = `zone-${count}.${zoneName(hosts)}`
    names.add(name)
    return {
      name,
      hostnames: hosts,
      comment: `${place.file}:${place.line} ${site.name.replace(/,$/, '')}`.trim(),
      ...(settings && { settings }),
      ...zone,
    }
  })
}

/** Returns the exact hosts that matchers of a block name. */
function hostsIn(segments: readonly Segment[]): string[] {
  const found = segments.flatMap(({ name, args, block = [] }) => {
    const inline = name.startsWith('@') && args[0] === 'host' ? args.slice(1) : []
    const lines = name.startsWith('@')
      ? block.filter((each) => each.name === 'host').flatMap((each) => each.args)
      : hostsIn(block)
    return [...inline, ...lines]
  })
  return [
    ...new Set(
      found.map((host) => host.toLowerCase()).filter((host) => !host.includes('*') && hostnameOf(host) !== undefined),
    ),
  ]
}

function addressesOf(
  site: Segment,
  { httpPort, httpsPort, report, isPlain }: { httpPort: number; httpsPort: number; report: Report; isPlain: boolean },
): Address[] {
  const given = [site.name, ...site.args].flatMap((text) => text.split(',')).filter((text) => text !== '')
  return given.flatMap((text): Address[] => {
    const [, scheme, host = '', port, path] =
      /^(?:(https?):\/\/)?(\[[^\]]*\]|[^:/]*)(?::(\d+))?(\/.*)?$/.exec(text) ?? []
    if (path !== undefined && path !== '/')
      report.add(site.place, text, 'the path of an address is left out; use a matcher')
    const name = host === '' ? '*' : hostnameOf(host)
    if (name === undefined) {
      report.add(site.place, text, 'edged has exact names and wildcards in front, as in *.example.com')
      return []
    }
    const number = port === undefined ? undefined : Number(port)
    const secure =
      scheme === undefined
        ? !isPlain && number !== httpPort && (host !== '' || number === httpsPort)
        : scheme === 'https'
    return [{ host: name, secure, port: number ?? (secure ? httpsPort : httpPort) }]
  })
}

function trusted(servers: Segment | undefined, report: Report): Pick<ImportedConfig, 'trustedProxies'> {
  const found = servers?.block?.find(({ name }) => name === 'trusted_proxies')
  for (const { name, args, place } of servers?.block ?? [])
    if (
      ![
        'trusted_proxies',
        'protocols',
        'timeouts',
        'name',
        'metrics',
        'protocol',
        'max_header_size',
        'keepalive_interval',
      ].includes(name)
    )
      report.add(place, `${name} ${args.join(' ')}`.trim(), 'edged has no such option of listeners')
  if (!found) return {}
  if (found.args[0] !== 'static') {
    report.add(
      found.place,
      `trusted_proxies ${found.args.join(' ')}`,
      'edged has a list of networks in `proxy.trusted_proxies`',
    )
    return {}
  }
  const all = found.args
    .slice(1)
    .flatMap((each) =>
      each === 'private_ranges'
        ? ['192.168.0.0/16', '172.16.0.0/12', '10.0.0.0/8', '127.0.0.0/8', 'fd00::/8', '::1/128']
        : [each],
    )
  return { trustedProxies: all }
}

const SIZE = /^(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?$/i
const POWERS = ['', 'k', 'm', 'g', 't']

/** Caddy has a limit for each site; edged has one, so it is set if all sites have one. */
function bodyLimit(sites: readonly Segment[], report: Report): Pick<ImportedConfig, 'bodyBytes'> {
  const given = sites.flatMap(({ block = [] }) =>
    block
      .filter(({ name }) => name === 'request_body')
      .flatMap(({ block: inner = [], args, place }) =>
        inner
          .filter(({ name }) => name === 'max_size')
          .map((each) => ({ text: each.args[0] ?? '', all: args.length === 0, place })),
      ),
  )
  const bytes = given.map(({ text }) => {
    const [, count = '0', unit = '', binary] = SIZE.exec(text) ?? []
    return Math.floor(Number(count) * (binary ? 1024 : 1000) ** POWERS.indexOf(unit.toLowerCase()))
  })
  const most = Math.max(...bytes, 0)
  const everywhere = given.length === sites.length && given.every(({ all }) => all)
  for (const [index, { text, place }] of given.entries())
    if (!everywhere || bytes[index] !== most)
      report.add(
        place,
        `request_body max_size ${text}`,
        'edged has one limit for all requests (`proxy.limits.body_bytes`)',
      )
  return everywhere && most > 0 ? { bodyBytes: `${most}B` } : {}
}

function accessLog(sites: readonly Segment[], folder: string, report: Report): Pick<ImportedConfig, 'accessLog'> {
  const logs = sites.flatMap(({ block = [] }) => block.filter(({ name }) => name === 'log'))
  let found: string | undefined
  for (const { block = [], place } of logs) {
    const output = block.find(({ name }) => name === 'output')
    const [kind = 'stdout', path = ''] = output?.args ?? []
    const file = kind === 'file' ? resolve(folder, path) : ['stdout', 'stderr'].includes(kind) ? '-' : undefined
    if (file === undefined)
      report.add(place, `log output ${kind}`, 'edged writes its access log to a file or to standard output')
    else if (found !== undefined && found !== file)
      report.add(place, `log output ${kind} ${path}`, `edged has one access log, ${found}`)
    found ??= file
    for (const each of block)
      if (
        !['output', 'level'].includes(each.name) &&
        !(each.name === 'format' && ['json', 'console'].includes(each.args[0] ?? ''))
      )
        report.add(
          each.place,
          `log ${each.name} ${each.args.join(' ')}`.trim(),
          'the access log of edged has lines of JSON with its own fields, or the format combined',
        )
    for (const each of output?.block ?? [])
      report.add(each.place, `${each.name} ${each.args.join(' ')}`.trim(), 'rotate the file with logrotate and SIGHUP')
  }
  return found === undefined ? {} : { accessLog: { format: 'json', file: found } }
}
