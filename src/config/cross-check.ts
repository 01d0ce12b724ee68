import { domainToASCII } from 'node:url'
import { natsTarget } from '../../pipelines/logpush/spool/nats/target.js'
import { messageOf, type Issue } from '../core/errors.js'
import { accessIssues } from '../core/permissions.js'
import { parseIp } from '../expr/ip.js'
import { trustedFieldIssue } from '../rules/fields/trusted.js'
import { LIST_TYPES } from '../lists/index.js'
import { configuredItem, itemIssues } from '../lists/item-check.js'
import { egressIssues } from './egress.js'
import { machineIssues } from './machines.js'
import { originIssues } from './origins.js'
import type { Config } from './schema.js'

/** Rules parse bodies synchronously: parsing 8 MiB of JSON delayed all other requests by a second. */
const MAX_RULES_BODY = 1024 * 1024

/** Returns issues of references between sections, and of accounts and zones, that a schema cannot express. */
export function crossCheck(config: Config): Issue[] {
  return [
    ...duplicates('accounts', 'id', config.accounts),
    ...duplicates('zones', 'id', config.zones),
    ...duplicates('zones', 'name', config.zones),
    ...zonesIssues(config),
  ]
}

/** Returns issues of the sections that refer to no account or zone, and that a schema cannot express. */
export function sectionIssues(config: Config): Issue[] {
  return [
    ...duplicates('lists', 'name', config.lists),
    ...config.lists.flatMap((list, index) => listIssues(list, `/lists/${index}/items`)),
    ...(['tokens', 'legacy_keys'] as const).flatMap((section) =>
      config[section].flatMap((access, index) => accessIssues(access, `/${section}/${index}`)),
    ),
    ...proxyIssues(config.proxy),
    ...egressIssues(config.egress),
    ...spoolIssues(config.logpush.spool),
    ...machineIssues(config.machines),
    ...portIssues(config),
  ]
}

function proxyIssues({ trusted_proxies, trusted_fields, rules_body, tls }: Config['proxy']): Issue[] {
  return [
    ...trusted_proxies.flatMap((cidr, index) =>
      isCidr(cidr)
        ? []
        : [{ pointer: `/proxy/trusted_proxies/${index}`, message: 'must be a CIDR, as in 10.0.0.0/8, or an address' }],
    ),
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
  ]
}

function portIssues({ proxy, control, admin }: Config): Issue[] {
  const listens: [pointer: string, listen: string | undefined][] = [
    ['/proxy/listen', proxy.listen],
    ['/proxy/tls/listen', proxy.tls?.listen],
    ['/control/listen', control.listen],
    ['/admin/listen', admin.listen],
  ]
  return listens.flatMap(([pointer, listen]) =>
    portOf(listen ?? ':0') > 65_535 ? [{ pointer, message: 'has a port above 65535' }] : [],
  )
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
  { zones, accounts }: Pick<Config, 'zones' | 'accounts'>,
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
  if (!known.some((one) => one.id === id))
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
    if (seen.has(value)) return [{ pointer: `/${where}/${index}/${key}`, message: `${value} is listed twice` }]
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

/** Reads each zone once: there can be 10,000. */
function zonesIssues({ accounts, zones }: Config): Issue[] {
  const known = new Set(accounts.map(({ id }) => id))
  const owners = new Map<string, number>()
  return zones.flatMap((zone, index) => {
    const issues = zoneIssues(zone, index, { accounts: known, owners })
    for (const name of zone.hostnames ?? []) if (!owners.has(name)) owners.set(name, index)
    return issues
  })
}

/** `owners`: the first of the zones before that lists a host name. */
function zoneIssues(
  zone: Config['zones'][number],
  index: number,
  { accounts, owners }: { accounts: ReadonlySet<string>; owners: ReadonlyMap<string, number> },
): Issue[] {
  const issues: Issue[] = []
  const pointer = `/zones/${index}`
  issues.push(...originIssues(zone, pointer))
  if (!accounts.has(zone.account))
    issues.push({ pointer: `${pointer}/account`, message: `names no entry of accounts: ${zone.account}` })
  if (zone.plan === 'free' && zone.settings.content_converter === 'on')
    issues.push({ pointer: `${pointer}/settings/content_converter`, message: 'is not available on the free plan' })
  if (zone.name.startsWith('*') || !isHostname(zone.name))
    issues.push({ pointer: `${pointer}/name`, message: notAHostname(zone.name) })
  for (const [at, name] of (zone.hostnames ?? []).entries()) {
    if (name !== '*' && !isHostname(name))
      issues.push({ pointer: `${pointer}/hostnames/${at}`, message: notAHostname(name) })
    const other = owners.get(name)
    if (other !== undefined)
      issues.push({ pointer: `${pointer}/hostnames/${at}`, message: `${name} belongs to zone ${other + 1} already` })
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
