import { Exit } from '../../common/command.js'
import { ZoneSettingValues } from '../../../core/model/zone-settings.js'
import type { ListKind } from '../../../core/model/list.js'
import { hostnameOf } from '../site/addresses.js'
import type { ImportedConfig, ImportedRule, Target } from '../site/model.js'
import type { Report } from '../site/report.js'
import { ruleIssue } from '../site/rules.js'
import { ACTIONS } from '../../../rules/actions/index.js'
import { PHASES } from '../../../rules/phases.js'
import { HostedApi, isDenied } from './client.js'
import { issuesOf } from '../../../core/schema.js'

interface Zone {
  readonly id: string
  readonly name: string
  readonly account: { readonly id: string; readonly name?: string }
  readonly plan?: { readonly legacy_id?: string }
}

interface DnsRecord {
  readonly type: string
  readonly name: string
  readonly content: string
  readonly proxied?: boolean
}

const NAMED_LIST = /\$([a-z0-9_]+)/g

/** Returns the configuration of a zone of the hosted service, as far as its API shows it. */
export async function importHosted(
  { zone: name, token, apiUrl }: { zone: string; token: string; apiUrl: string },
  report: Report,
): Promise<ImportedConfig> {
  const api = new HostedApi(apiUrl, token)
  const found = await api.list(`/zones?name=${encodeURIComponent(name)}`)
  if (isDenied(found)) throw new Exit(2, `cannot read the zone ${name}: ${found.reason}`)
  const zone = (found as readonly Zone[]).find((each) => each.name === name)
  if (!zone) throw new Exit(2, `the token can read no zone ${name}`)
  const accountId = zone.account.id
  const origins = await originsOf(api, zone, report)
  const settings = await settingsOf(api, zone, report)
  const rules = await rulesOf(api, zone, report)
  const lists = await listsOf(api, accountId, rules, report)
  dropUnknownLists(rules, lists, report)
  await reportOthers(api, zone, report)
  return {
    about: [
      `Made from the zone ${name} of ${apiUrl} by edged import hosted.`,
      'The origin is that of the DNS records. Its certificate has to be valid for the name, unless `settings` have `ssl: full`.',
      'Accounts and zones have the ids that they have there: scripts and state files stay valid.',
    ],
    listen: '0.0.0.0:80',
    tls: { listen: '0.0.0.0:443', acme: { agree_to_terms: true } },
    account: { id: accountId, name: zone.account.name ?? 'Account' },
    ...(lists.length > 0 && { lists }),
    zones: [
      {
        id: zone.id,
        name,
        comment: name,
        hostnames: origins.hostnames,
        ...origins.target,
        ...(Object.keys(settings).length > 0 && { settings }),
        ...(rules.size > 0 && { rules: Object.fromEntries(rules) }),
      },
    ],
  }
}

/** Returns host names and origin from proxied DNS records. */
async function originsOf(
  api: HostedApi,
  { id, name }: Zone,
  report: Report,
): Promise<{ hostnames: string[]; target: Target }> {
  const byDefault = { hostnames: [name, `*.${name}`], target: {} }
  const records = await api.list(`/zones/${id}/dns_records`, 100)
  if (isDenied(records)) {
    report.resource('DNS records', `${records.reason}; set \`origin\` and \`hostnames\` of the zone`)
    return byDefault
  }
  const proxied = (records as readonly DnsRecord[]).filter(
    (record) => record.proxied === true && ['A', 'AAAA', 'CNAME'].includes(record.type),
  )
  const others = records.length - proxied.length
  if (others > 0)
    report.resource(
      'DNS records',
      `${others} ${others === 1 ? 'is' : 'are'} not proxied and stay${others === 1 ? 's' : ''} with your DNS server`,
    )
  if (proxied.length === 0) return byDefault
  const addresses = new Map<string, Set<string>>()
  for (const { name: host, content } of proxied) addresses.set(host, (addresses.get(host) ?? new Set()).add(content))
  const main = addresses.get(name) ?? [...addresses.values()][0]!
  for (const [host, set] of addresses) {
    // A name that is an alias of the zone has its origin.
    const isAlias = set.size === 1 && addresses.has([...set][0]!)
    if (!isAlias && key(set) !== key(main))
      report.resource(
        `DNS record ${host}`,
        `it has other addresses (${key(set)}) than ${name}; give it a zone of its own, or a rule of http_request_origin`,
      )
  }
  const urls = [...main].toSorted().map((address) => `https://${address.includes(':') ? `[${address}]` : address}`)
  return {
    hostnames: [...addresses.keys()].flatMap((host) => hostnameOf(host) ?? []),
    target: urls.length === 1 ? { origin: urls[0]! } : { origins: urls.map((url) => ({ url })) },
  }
}

const key = (set: ReadonlySet<string>): string => [...set].toSorted().join(' ')

/** Returns the settings that act here. */
async function settingsOf(api: HostedApi, { id }: Zone, report: Report): Promise<Record<string, unknown>> {
  const found = await api.get(`/zones/${id}/settings`)
  if (isDenied(found) || !Array.isArray(found)) {
    report.resource('settings', isDenied(found) ? found.reason : 'they are not a list')
    return {}
  }
  const settings: Record<string, unknown> = {}
  const unused: string[] = []
  for (const { id: name, value } of found as readonly { id: string; value: unknown }[]) {
    const schema = (ZoneSettingValues as Readonly<Record<string, Parameters<typeof issuesOf>[0]>>)[name]
    if (name === 'content_converter' && (value === 'on' || value === 'off')) settings[name] = value
    else if (schema && issuesOf(schema)(value).length === 0) settings[name] = value
    else if (value !== 'off' && value !== '' && value !== null && !isEmpty(value)) unused.push(name)
  }
  if (unused.length > 0) report.resource('settings', `without effect here: ${unused.toSorted().join(', ')}`)
  return settings
}

const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0

type Phases = Map<string, ImportedRule[]>

interface Ruleset {
  readonly id: string
  readonly kind: string
  readonly phase: string
  readonly name?: string
  readonly rules?: readonly Readonly<Record<string, unknown>>[]
}

/** Returns the rules of the entry points of a zone. */
async function rulesOf(api: HostedApi, { id }: Zone, report: Report): Promise<Phases> {
  const phases: Phases = new Map()
  const rulesets = await api.list(`/zones/${id}/rulesets`)
  if (isDenied(rulesets)) {
    report.resource('rulesets', rulesets.reason)
    return phases
  }
  const order = new Map<string, number>(PHASES.map(({ name }, index) => [name, index]))
  const own = (rulesets as readonly Ruleset[])
    .filter(({ kind }) => kind === 'zone')
    .toSorted((a, b) => (order.get(a.phase) ?? 99) - (order.get(b.phase) ?? 99))
  for (const ruleset of own) {
    const whole = await api.get(`/zones/${id}/rulesets/${ruleset.id}`)
    if (isDenied(whole)) report.resource(`ruleset ${ruleset.phase}`, whole.reason)
    else phases.set(ruleset.phase, importedRules(whole as Ruleset, report))
  }
  for (const { kind, name, phase } of rulesets as readonly Ruleset[])
    if (kind === 'custom')
      report.resource(
        `ruleset ${name ?? ''} of ${phase}`,
        'rulesets that other rules execute are made through the API (POST /rulesets)',
      )
  for (const [phase, rules] of phases) if (rules.length === 0) phases.delete(phase)
  return phases
}

const KEPT = [
  'expression',
  'action',
  'action_parameters',
  'ratelimit',
  'enabled',
  'ref',
  'logging',
  'exposed_credential_check',
] as const

function importedRules({ phase, rules = [] }: Ruleset, report: Report): ImportedRule[] {
  return rules.flatMap((given): ImportedRule[] => {
    const name = `rule ${nameOf(given)} of ${phase}`
    const rule = Object.fromEntries(
      KEPT.filter((key) => given[key] !== undefined && !(key === 'enabled' && given[key] === true)).map((key) => [
        key,
        given[key],
      ]),
    )
    if (rule['ref'] === given['id']) delete rule['ref']
    if (rule['action_parameters'] !== undefined && Object.keys(rule['action_parameters'] as object).length === 0)
      delete rule['action_parameters']
    const issue = ruleIssue(phase, rule, ANY_LIST)
    if (issue !== undefined) {
      report.resource(
        name,
        rule['action'] === 'execute' ? 'the ruleset that it runs belongs to the hosted service' : issue,
      )
      return []
    }
    const inert =
      ACTIONS.get(String(rule['action']))?.inert((rule['action_parameters'] ?? {}) as Record<string, unknown>) ?? []
    if (inert.length > 0) report.resource(name, `without effect here: ${inert.join(', ')}`)
    return [
      {
        ...(rule as unknown as ImportedRule),
        ...(typeof given['description'] === 'string' &&
          given['description'] !== '' && { description: given['description'] }),
      },
    ]
  })
}

/** Returns the words by which a rule is found in the hosted service. */
const nameOf = (rule: Readonly<Record<string, unknown>>): string =>
  [rule['description'], rule['ref'], rule['id']].find(
    (each): each is string => typeof each === 'string' && each !== '',
  ) ?? ''

/** Lists are read after the rules that name them: a type that fits is assumed. */
const ANY_LIST: ReadonlyMap<string, ListKind> = { get: () => 'ip', has: () => true } as unknown as ReadonlyMap<
  string,
  ListKind
>

interface ImportedList {
  readonly name: string
  readonly kind: string
  readonly items: readonly unknown[]
}

/** Returns the lists that rules name. */
async function listsOf(api: HostedApi, account: string, rules: Phases, report: Report): Promise<ImportedList[]> {
  const text = JSON.stringify([...rules.values()])
  const named = new Set([...text.matchAll(NAMED_LIST)].map(([, name]) => name!))
  if (named.size === 0) return []
  const lists = await api.list(`/accounts/${account}/rules/lists`)
  if (isDenied(lists)) {
    report.resource('lists', lists.reason)
    return []
  }
  const found: ImportedList[] = []
  for (const { id, name, kind } of lists as readonly { id: string; name: string; kind: string }[]) {
    if (!named.has(name)) continue
    const items = await api.list(`/accounts/${account}/rules/lists/${id}/items`, 500)
    if (isDenied(items)) report.resource(`list ${name}`, items.reason)
    else
      found.push({ name, kind, items: (items as readonly Record<string, unknown>[]).map((item) => itemOf(kind, item)) })
  }
  return found
}

function itemOf(kind: string, { ip, asn, hostname, redirect, comment }: Readonly<Record<string, unknown>>): unknown {
  const note = comment ? { comment } : {}
  if (kind === 'ip') return comment ? { ip, ...note } : ip
  if (kind === 'asn') return comment ? { asn, ...note } : asn
  return kind === 'hostname' ? { hostname, ...note } : { redirect, ...note }
}

/** Removes rules whose list could not be read. */
function dropUnknownLists(rules: Phases, lists: readonly ImportedList[], report: Report): void {
  const kinds = new Map(lists.map(({ name, kind }) => [name, kind as ListKind]))
  for (const [phase, list] of rules) {
    const kept = list.filter((rule) => {
      const issue = ruleIssue(phase, rule, kinds)
      if (issue !== undefined) report.resource(`rule ${rule.description ?? rule.expression} of ${phase}`, issue)
      return issue === undefined
    })
    if (kept.length === 0) rules.delete(phase)
    else rules.set(phase, kept)
  }
}

/** Other resources, with what to do about them. */
const OTHERS: readonly (readonly [path: string, name: string, advice: string])[] = [
  ['/zones/ZONE/custom_hostnames', 'custom hostnames', 'make them through the API (POST /zones/{id}/custom_hostnames)'],
  ['/zones/ZONE/workers/routes', 'Worker routes', 'upload the scripts with wrangler, which makes their routes'],
  ['/zones/ZONE/logpush/jobs', 'log push jobs', 'make them through the API (POST /zones/{id}/logpush/jobs)'],
  ['/zones/ZONE/pagerules', 'page rules', 'write them as redirect, cache or configuration rules'],
  ['/zones/ZONE/load_balancers', 'load balancers', 'write `origins`, `balance` and `health` of the zone'],
]

async function reportOthers(api: HostedApi, { id }: Zone, report: Report): Promise<void> {
  for (const [path, name, advice] of OTHERS) {
    const found = await api.get(path.replace('ZONE', id))
    // A resource that the server does not offer, or that the token must not read, may exist.
    if (isDenied(found)) {
      if (found.status === 403) report.resource(name, `the token cannot read them; ${advice}`)
      continue
    }
    if (Array.isArray(found) && found.length > 0) report.resource(name, `${found.length} left out; ${advice}`)
  }
}
