import { domainToASCII } from 'node:url'
import { natsTarget } from '../../pipelines/logpush/spool/nats/target.js'
import { messageOf, type Issue } from '../core/errors.js'
import { accessIssues } from '../core/permissions.js'
import { parseIp } from '../expr/language/ip.js'
import { trustedFieldIssue } from '../rules/fields/trusted.js'
import { LIST_TYPES } from '../lists/index.js'
import { configuredItem, itemIssues } from '../lists/item-check.js'
import type { Catalogue } from '../agents/catalogue/catalogue.js'
import { agentIssues } from './zones/agents.js'
import { egressIssues } from './egress.js'
import { machineIssues } from './sections/machines.js'
import { authIssues } from './zones/auth.js'
import { rulesOfFileIssues, type RulesOfFileChecks } from './zones/file-rules.js'
import { originIssues } from './origins.js'
import type { Config } from './schema.js'
import type { KnownIds, SoundPart } from './sound-part.js'
import type { AcmeConfig } from './tls.js'

/** Rules parse bodies synchronously: parsing 8 MiB of JSON delayed all other requests by a second. */
const MAX_RULES_BODY = 1024 * 1024

/** Returns issues of zones that a schema cannot express. */
export function zoneIssues(config: Config, catalogue: Catalogue): Issue[] {
  const { zones } = config
  const owners = new Map<string, Zone>()
  const checks = ruleChecks(config)
  return [
    ...duplicates('zones', 'id', zones),
    ...duplicates('zones', 'name', zones),
    ...zones.flatMap((zone, index) => issuesOfZone(zone, `/zones/${index}`, owners)),
    ...zones.flatMap((zone, index) => agentIssues(zone, catalogue, `/zones/${index}/agents`)),
    ...zones.flatMap((zone, index) => rulesOfFileIssues(zone, 'zone', `/zones/${index}`, checks)),
  ]
}

const ruleChecks = ({ lists, control }: Config): RulesOfFileChecks => ({
  lists,
  most: control.quotas.rules_per_ruleset,
})

/** Returns issues of zones whose account is not among the accounts of the file. */
export function accountIssues({ ids: { accounts: ids }, owned }: Pick<SoundPart, 'ids' | 'owned'>): Issue[] {
  if (ids === undefined) return []
  const listed = [...ids].slice(0, 3).join(', ') + (ids.size > 3 ? ', ...' : '')
  const advice = ids.size === 0 ? 'add it there' : `add it there, or use ${listed}`
  return owned.flatMap(([index, account]) =>
    ids.has(account)
      ? []
      : [{ pointer: `/zones/${index}/account`, message: `names no entry of accounts: ${account}; ${advice}` }],
  )
}

/** Returns issues of the sections that refer to no account or zone, and that a schema cannot express. */
export function sectionIssues(config: Config): Issue[] {
  return [
    ...duplicates('accounts', 'id', config.accounts),
    ...config.accounts.flatMap((account, index) =>
      rulesOfFileIssues(account, 'account', `/accounts/${index}`, ruleChecks(config)),
    ),
    ...duplicates('lists', 'name', config.lists),
    ...config.lists.flatMap((list, index) => listIssues(list, `/lists/${index}/items`)),
    ...(['tokens', 'legacy_keys'] as const).flatMap((section) =>
      config[section].flatMap((access, index) => accessIssues(access, `/${section}/${index}`)),
    ),
    ...proxyIssues(config.proxy),
    ...cidrIssues(config.control.trusted_proxies, '/control/trusted_proxies'),
    ...cidrIssues(config.control.networks ?? [], '/control/networks'),
    ...egressIssues(config.egress),
    ...spoolIssues(config.logpush.spool),
    ...machineIssues(config.machines),
    ...portIssues(config),
  ]
}

function cidrIssues(cidrs: readonly string[], pointer: string): Issue[] {
  return cidrs.flatMap((cidr, index) =>
    isCidr(cidr)
      ? []
      : [{ pointer: `${pointer}/${index}`, message: 'must be a CIDR, as in 10.0.0.0/8, or an address' }],
  )
}

function proxyIssues({ trusted_proxies, trusted_fields, rules_body, tls }: Config['proxy']): Issue[] {
  return [
    ...cidrIssues(trusted_proxies, '/proxy/trusted_proxies'),
    ...Object.keys(trusted_fields).flatMap((name) => {
      const message = trustedFieldIssue(name)
      return message === undefined ? [] : [{ pointer: `/proxy/trusted_fields/${name}`, message }]
    }),
    ...(rules_body.bytes > MAX_RULES_BODY
      ? [{ pointer: '/proxy/rules_body/bytes', message: 'must be at most 1MiB' }]
      : []),
    ...(tls && tls.certificates.length === 0 && !tls.acme
      ? [{ pointer: '/proxy/tls/certificates', message: 'needs a certificate, or the section acme beside it' }]
      : []),
    ...(tls?.acme ? dnsIssues(tls.acme) : []),
  ]
}

function dnsIssues({ challenges, dns }: AcmeConfig): Issue[] {
  const [at, wanted] = ['/proxy/tls/acme', challenges.includes('dns-01')]
  if (wanted && !dns)
    return [
      { pointer: `${at}/challenges`, message: 'has dns-01, which needs dns: { command: [./dns-hook] } beside it' },
    ]
  if (!wanted && dns) return [{ pointer: `${at}/dns`, message: 'is never run; add dns-01 to challenges beside it' }]
  return []
}

/** Returns issues of listeners, such as ports that do not exist and addresses that two listeners have. */
function portIssues({ proxy, control, admin }: Config): Issue[] {
  const listens: [pointer: string, listen: string | undefined][] = [
    ['/proxy/listen', proxy.listen],
    ['/proxy/tls/listen', proxy.tls?.listen],
    ['/control/listen', control.listen],
    ['/admin/listen', admin.listen],
  ]
  const seen = new Map<string, string>()
  return listens.flatMap(([pointer, listen = ':0']): Issue[] => {
    if (listen.startsWith('unix:')) return []
    const port = portOf(listen)
    if (port > 65_535) return [{ pointer, message: 'has a port above 65535' }]
    const other = port === 0 ? undefined : seen.get(listen)
    if (other !== undefined) return [{ pointer, message: `${listen} is the address of ${other}; choose another port` }]
    seen.set(listen, pointer.slice(1).replaceAll('/', '.'))
    return []
  })
}

function spoolIssues(spool: string): Issue[] {
  try {
    if (spool !== 'embedded') natsTarget(spool)
    return []
  } catch (error) {
    return [{ pointer: '/logpush/spool', message: messageOf(error) }]
  }
}

/** Returns issues of a source of the daemon's own records: unknown zones or accounts, datasets that they lack. */
export function sourceIssues(
  { zones, accounts }: KnownIds,
  { source, stored: dataset }: Config['pipelines'][number],
  at: string,
): Issue[] {
  const [type, id, known] =
    'zone' in source
      ? (['zone', source.zone, zones] as const)
      : 'account' in source
        ? (['account', source.account, accounts] as const)
        : []
  if (type === undefined) return []
  if (known !== undefined && !known.has(id))
    return [{ pointer: `${at}/${type}`, message: `${id} is not ${type === 'zone' ? 'a zone' : 'an account'} here` }]
  if (dataset.scopes.includes(type)) return []
  return [
    {
      pointer: `${at}/${type}`,
      message: `${dataset.name} is not a dataset of ${type === 'zone' ? 'zones' : 'accounts'}`,
    },
  ]
}

function duplicates<K extends string>(where: string, key: K, items: readonly Readonly<Record<K, string>>[]): Issue[] {
  const seen = new Set<string>()
  return items.flatMap((item, index) => {
    const value = item[key].toLowerCase()
    if (seen.has(value))
      return [{ pointer: `/${where}/${index}/${key}`, message: `${value} is listed twice; remove one of the two` }]
    seen.add(value)
    return []
  })
}

function listIssues({ kind, items }: Config['lists'][number], at: string): Issue[] {
  const seen = new Set<string>()
  return items.flatMap((given, index): Issue[] => {
    const item = configuredItem(kind, given)
    const pointer = `${at}/${index}`
    const wrong = itemIssues(kind, item)
    // A string has no members to point at.
    if (wrong.length > 0)
      return wrong.map((issue) => ({ ...issue, pointer: pointer + (item === given ? issue.pointer : '') }))
    const key = LIST_TYPES[kind].key(item)
    if (seen.has(key)) return [{ pointer, message: `${key} is listed twice` }]
    seen.add(key)
    return []
  })
}

const HOSTNAME = /^(\*\.)?([a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$/i

type Zone = Config['zones'][number]

/** `owners`: the zones before it that have a host name. */
function issuesOfZone(zone: Zone, pointer: string, owners: Map<string, Zone>): Issue[] {
  const issues = [
    ...originIssues(zone, pointer, zone.paths.length > 0),
    ...authIssues(zone.auth, `${pointer}/auth`),
    ...zone.paths.flatMap((path, index) => [
      ...originIssues(path, `${pointer}/paths/${index}`, true),
      ...authIssues(path.auth, `${pointer}/paths/${index}/auth`),
    ]),
  ]
  if (zone.plan === 'free' && zone.settings.content_converter === 'on')
    issues.push({ pointer: `${pointer}/settings/content_converter`, message: 'is not available on the free plan' })
  if (zone.name.startsWith('*') || !isHostname(zone.name))
    issues.push({ pointer: `${pointer}/name`, message: notAHostname(zone.name) })
  for (const [at, name] of (zone.hostnames ?? []).entries()) {
    if (name !== '*' && !isHostname(name))
      issues.push({ pointer: `${pointer}/hostnames/${at}`, message: notAHostname(name) })
    const owner = owners.get(name)
    if (owner && owner !== zone)
      issues.push({ pointer: `${pointer}/hostnames/${at}`, message: `${name} belongs to zone ${owner.name} already` })
    else owners.set(name, zone)
  }
  return issues
}

const isHostname = (name: string): boolean => HOSTNAME.test(name) || parseIp(name.replace(/^\[|\]$/g, '')) !== undefined

/** Says what to write instead, if that is known. */
function notAHostname(name: string): string {
  const ascii = domainToASCII(name)
  const hint = name.startsWith('*')
    ? '; wildcards belong in hostnames'
    : ascii !== '' && ascii !== name && HOSTNAME.test(ascii)
      ? `; write it as ${ascii}`
      : ''
  return `is not a host name: ${name}${hint}`
}

/** Returns whether a text is an address, or a network in CIDR form. */
function isCidr(text: string): boolean {
  const [, address = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const ip = parseIp(address)
  return ip !== undefined && (bits === undefined || Number(bits) <= (typeof ip === 'number' ? 32 : 128))
}
const portOf = (listen: string): number => Number(listen.slice(listen.lastIndexOf(':') + 1))
