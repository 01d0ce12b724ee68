import { Type, type Static } from 'typebox'
import {
  ACCESS as ACCESS_SLOT,
  ACTIONS,
  BYTES,
  CHARGED,
  COMPARED_TOKENS,
  HTML_TOKENS,
  MARKDOWN_RESPONSES,
  REQUESTS,
  SEPARATOR,
  TOKENS,
  VERIFICATIONS,
  VERIFIED,
  type DimensionName,
  type Row,
} from '../../src/history/layout.js'
import type { Group } from '../../src/history/query.js'
import { ACCESS_ACTIONS, fitsOf, type AgentFacts } from '../../src/agents/access/access.js'
import { area } from '../http/area.js'
import { whole } from '../http/paging.js'
import { configIndex } from '../http/auth/config-index.js'
import type { ControlConfig } from '../http/context.js'
import { ACCESS } from '../http/permissions.js'
import { scopesOf } from './analytics.js'
import { EdgedSource, sourceOf } from '../resources/file-source.js'
import { HistoryRange, rangeOf } from './history-range.js'
import type { OverviewDeps } from './services.js'

const MAX_AGENTS = 1000
const MAX_PATHS = 10_000
/** Paths of each agent. */
const SHOWN_PATHS = 20

const count = (description: string) => Type.Integer({ minimum: 0, description })

const Entry = Type.Union(
  [
    Type.Object({
      do: Type.Enum([...ACCESS_ACTIONS]),
      price: Type.Union([Type.String(), Type.Null()], { description: 'Of one request, with pay.' }),
      edged_source: EdgedSource,
    }),
    Type.Null(),
  ],
  { description: 'Null if no entry fits.' },
)

const AgentReport = Type.Object({
  name: Type.String({ description: 'Name in the catalogue, or the host of the key directory of another signer.' }),
  operator: Type.String(),
  category: Type.String(),
  requests: count('Finished requests.'),
  markdown_requests: count('Requests that got Markdown.'),
  bytes: count('Body bytes sent to it.'),
  tokens: count('Estimated tokens of converted pages.'),
  tokens_saved: count('Estimated tokens of the HTML of these pages, less the tokens of the Markdown.'),
  verified: Type.Object(
    { none: count(''), address: count(''), signature: count('') },
    { description: 'Requests by how the agent was verified.' },
  ),
  actions: Type.Record(Type.String(), count(''), { description: 'Requests by the action of `agents.access`.' }),
  access: Type.Object(
    { none: Entry, address: Entry, signature: Entry },
    { description: 'The entry of `agents.access` that decides, by how the agent is verified.' },
  ),
  charged: Type.Record(Type.String(), Type.String(), { description: 'Amounts that it agreed to, by currency.' }),
  paths: Type.Array(Type.Object({ path: Type.String(), requests: count('') }), {
    description: 'Paths with the most requests, of the agents with the most requests.',
  }),
})

const rows = area<OverviewDeps>({ scopes: ['zone'], access: { read: ACCESS.zones.read, write: [] } })

/** The requests of agents, and the responses that they got. */
export const agentReports = rows.endpoints([
  rows.get('/edged/agents', {
    summary: 'List the agents that have sent requests to a zone, those with the most requests first',
    query: Type.Object(HistoryRange),
    result: Type.Array(AgentReport),
    async handle(deps, call) {
      const { history } = deps.overview()
      const range = { ...rangeOf(call.query, deps.clock.now()), scopes: scopesOf(deps, call), groupPoints: false }
      const read = async (by: DimensionName, limit: number): Promise<readonly Group[]> =>
        (await history.read({ ...range, by, limit })).groups
      const agents = await read('agent', MAX_AGENTS)
      const charges = byAgent(await read('charge', MAX_AGENTS))
      const paths = byAgent(await read('agent,path', MAX_PATHS))
      const access = accessIn(deps.config(), call.scope.id)
      return whole(agents.map(({ key, row }) => report(key, row, { charges, paths, access })))
    },
  }),
])

/** Returns a function that finds the entries of `agents.access` of a zone for an agent. */
function accessIn(config: ControlConfig, zone: string) {
  const entries = (configIndex(config).zones.get(zone)?.agents.access ?? []).map(
    ({ who, do: action, price }, index) => ({
      fits: fitsOf(who),
      shown: { do: action, price: price ?? null, edged_source: sourceOf(config, `access/${zone}/${index}`) },
    }),
  )
  const first = (agent: AgentFacts) => entries.find(({ fits }) => fits(agent))?.shown ?? null
  return (agent: Omit<AgentFacts, 'verified'>): Static<typeof AgentReport>['access'] => ({
    none: first({ ...agent, verified: 'none' }),
    address: first({ ...agent, verified: 'address' }),
    signature: first({ ...agent, verified: 'signature' }),
  })
}

/** Values of the second part of a key, by its first. */
type ByAgent = ReadonlyMap<string, readonly { readonly value: string; readonly row: Row }[]>

function byAgent(groups: readonly Group[]): ByAgent {
  const found = new Map<string, { value: string; row: Row }[]>()
  for (const { key, row } of groups) {
    const [agent = '', value = ''] = key.split(SEPARATOR)
    const list = found.get(agent) ?? []
    list.push({ value, row })
    found.set(agent, list)
  }
  return found
}

function report(
  key: string,
  row: Row,
  { charges, paths, access }: { charges: ByAgent; paths: ByAgent; access: ReturnType<typeof accessIn> },
): Static<typeof AgentReport> {
  const [name = '', operator = '', category = ''] = key.split(SEPARATOR)
  const [none, address, signature] = VERIFIED.map((_, index) => row[VERIFICATIONS + index]!)
  const actions = ACTIONS.map((action, index) => [action, row[ACCESS_SLOT + index]!] as const)
  return {
    name,
    operator,
    category,
    requests: row[REQUESTS]!,
    markdown_requests: row[MARKDOWN_RESPONSES]!,
    bytes: row[BYTES]!,
    tokens: row[TOKENS]!,
    tokens_saved: Math.max(0, row[HTML_TOKENS]! - row[COMPARED_TOKENS]!),
    verified: { none: none!, address: address!, signature: signature! },
    actions: Object.fromEntries(actions.filter(([action, requests]) => action !== 'none' && requests > 0)),
    access: access({ name, operator, category: category as AgentFacts['category'] }),
    charged: Object.fromEntries(
      (charges.get(name) ?? []).map(({ value, row: charge }) => [value, amountOf(charge[CHARGED]!)]),
    ),
    paths: (paths.get(name) ?? [])
      .slice(0, SHOWN_PATHS)
      .map(({ value, row: path }) => ({ path: value, requests: path[REQUESTS]! })),
  }
}

/** Returns an amount in millionths as a decimal number. */
function amountOf(millionths: number): string {
  const text = (millionths / 1e6).toFixed(6)
  return text.replace(/\.?0+$/, '')
}
