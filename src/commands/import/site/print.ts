import { Document, isMap, isSeq, Scalar, type Node, type Pair, type YAMLMap } from 'yaml'
import { idOf } from './addresses.js'
import type { ImportedConfig, ImportedZone, PathEntry, Target } from './model.js'

/** The origin of zones without one. */
const NOWHERE = 'http://127.0.0.1:9'

const NO_TOKENS = ` A token for the API, made with: edged token create --name admin --permission '*' -c FILE
 tokens:
   - { name: admin, token: "\${EDGED_ADMIN_TOKEN}", permissions: ["*"], accounts: ["*"], zones: ["*"] }`

/** Returns a configuration as commented YAML. */
export function printed(config: ImportedConfig): string {
  const account = config.account ?? { id: idOf('account'), name: 'Default' }
  const document = new Document(
    {
      data: './data',
      ...(config.accessLog && { access_log: config.accessLog }),
      proxy: {
        ...(config.listen !== undefined && { listen: config.listen }),
        ...(config.tls && { tls: config.tls }),
        ...(config.trustedProxies && { trusted_proxies: config.trustedProxies }),
        ...(config.bodyBytes !== undefined && { limits: { body_bytes: config.bodyBytes } }),
        ...(config.originTimeouts && { origin: config.originTimeouts }),
      },
      ...egressOf(config.zones),
      accounts: [account],
      ...(config.lists && { lists: config.lists }),
      zones: config.zones.map((zone) => zoneValue(zone, account.id)),
    },
    { aliasDuplicateObjects: false },
  )
  const root = document.contents as YAMLMap
  document.commentBefore = [
    ...config.about,
    'Check it with: edged check FILE      Every option: edged schema config --yaml',
  ]
    .map((line) => ` ${line}`)
    .join('\n')
  for (const { key } of root.items) if (key instanceof Scalar && key.value !== 'data') key.spaceBefore = true
  const items = (root.get('zones', true) as { items: Node[] } | undefined)?.items ?? []
  for (const [index, item] of items.entries()) arrangeZone(item as YAMLMap, config.zones[index]!, index > 0)
  for (const key of ['accounts', 'lists']) shorten(root.get(key, true))
  const certificates = root.getIn(['proxy', 'tls', 'certificates'], true)
  shorten(certificates)
  document.comment = NO_TOKENS
  return document.toString({ lineWidth: 0, singleQuote: false, flowCollectionPadding: true })
}

/** Opens private addresses that rules name as origins. */
function egressOf(zones: readonly ImportedZone[]): { egress?: object } {
  const named = [...new Set(zones.flatMap((zone) => zone.named ?? []))]
  return named.length === 0 ? {} : { egress: { allow_cidrs: named } }
}

function zoneValue({ paths, rules, id, ...zone }: ImportedZone, account: string): object {
  const { name, hostnames, origin, origins, root } = zone
  const rest = without(zone, ['name', 'hostnames', 'origin', 'origins', 'root', 'comment', 'named'])
  return {
    id: id ?? idOf(`zone ${name}`),
    account,
    name,
    hostnames,
    ...(hasTarget(zone) ? { origin, origins, root } : { origin: NOWHERE }),
    ...rest,
    ...(paths && paths.length > 0 && { paths: paths.map((entry) => without(entry, ['comment'])) }),
    ...(rules && { rules }),
  }
}

const without = (value: object, names: readonly string[]): object =>
  Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)))

const hasTarget = ({ origin, origins, root }: Target): boolean => (origin ?? origins ?? root) !== undefined

/** Gives a zone its comments, and short entries one line each. */
function arrangeZone(zone: YAMLMap, { comment, paths = [], ...target }: ImportedZone, apart: boolean): void {
  if (comment !== undefined) zone.commentBefore = lines(comment)
  if (apart) zone.spaceBefore = true
  for (const key of ['hostnames', 'settings', 'health', 'auth']) shorten(zone.get(key, true), true)
  shorten(zone.get('root', true), true)
  shorten(zone.get('origins', true))
  const origin = zone.get('origin', true)
  if (origin instanceof Scalar && !hasTarget(target)) origin.comment = ' for requests to which no rule or path responds'
  const entries = zone.get('paths', true)
  if (isSeq(entries)) for (const [index, item] of entries.items.entries()) arrangePath(item as YAMLMap, paths[index]!)
  const phases = zone.get('rules', true)
  if (!isMap(phases)) return
  for (const { value } of phases.items)
    if (isSeq(value)) for (const rule of value.items) if (isMap(rule)) arrangeRule(rule)
}

/** The longest entry of `paths` that is written in one line, in characters. */
const MAX_FLOW = 110

function arrangePath(entry: YAMLMap, { comment, ...given }: PathEntry): void {
  if (comment !== undefined) entry.commentBefore = lines(comment)
  if (JSON.stringify(given).length < MAX_FLOW) entry.flow = true
}

/** Writes a rule with its description as the comment above, and its parameters in one line if they are short. */
function arrangeRule(rule: YAMLMap): void {
  const description = rule.get('description')
  if (typeof description === 'string') {
    rule.commentBefore = lines(description)
    rule.delete('description')
  }
  for (const key of ['action_parameters', 'ratelimit']) {
    const value = rule.get(key, true)
    if (isMap(value) && JSON.stringify(value).length < MAX_FLOW) value.flow = true
  }
  rule.items = rule.items.filter((item): item is Pair => item !== undefined)
}

/** Writes a collection, or each of its items, in one line. */
function shorten(node: unknown, whole = false): void {
  if (whole && (isMap(node) || isSeq(node))) node.flow = true
  else if (isSeq(node)) for (const item of node.items) if (isMap(item)) item.flow = true
}

const lines = (text: string): string =>
  text
    .split('\n')
    .map((line) => ` ${line}`)
    .join('\n')
