import type { Static } from 'typebox'
import {
  SEVERITIES,
  severityOf,
  timeOf,
  type StoredFinding,
  type StoredInstance,
} from '../../src/core/model/finding.js'
import type { FindingStats } from '../../src/webhooks/finding-index.js'
import type { FindingQuery, InstanceQuery } from './finding-schemas.js'

type Findings = Static<typeof FindingQuery>
type Instances = Static<typeof InstanceQuery>

/** A finding with the counts of its instances. */
export interface Summed {
  readonly finding: StoredFinding
  readonly stats: FindingStats
}

/** Whether `text` contains `part`, ignoring case. */
export const has = (text: string, part: string | undefined): boolean =>
  part === undefined || text.toLowerCase().includes(part.toLowerCase())

/** Whether a value is the wanted one, or none is wanted. */
export const is = <T>(value: T, wanted: T | undefined): boolean => wanted === undefined || value === wanted

const among = (value: string | undefined, wanted: readonly string[] | undefined): boolean =>
  wanted === undefined || (value !== undefined && wanted.includes(value))

/** Whether a time is in a range, whose ends can be open. */
export function between(text: string | undefined, least: string | undefined, max: string | undefined): boolean {
  if (least === undefined && max === undefined) return true
  if (text === undefined) return false
  const time = timeOf(text)
  return (least === undefined || time >= timeOf(least)) && (max === undefined || time <= timeOf(max))
}

/** Returns the findings that match a query, in its order. */
export function chosenFindings(all: readonly Summed[], query: Findings): Summed[] {
  const chosen = all.filter(
    ({ finding, stats }) =>
      among(finding.finding_type_id, query.finding_type_ids) &&
      is(finding.integration.id, query.integration_id) &&
      is(finding.ignored ?? false, query.ignored) &&
      is(severityOf(finding), query.severity) &&
      is(finding.category.type, query.type) &&
      is(finding.category.observation, query.observation) &&
      is(finding.category.product, query.product === 'Saas' ? 'SaaS' : query.product) &&
      is(finding.vendor, query.vendor) &&
      has(finding.name, query.search) &&
      between(stats.latest, query.min_affliction_date, query.max_affliction_date),
  )
  return sorted(chosen, FINDING_KEYS[query.order], query.direction)
}

export type Key = string | number

const FINDING_KEYS: Record<Findings['order'], (one: Summed) => Key> = {
  'finding.name': ({ finding }) => finding.name,
  instance_count: ({ stats }) => stats.active + stats.archived,
  'integration.name': ({ finding }) => finding.integration.name ?? '',
  latest_affliction_date: ({ stats }) => (stats.latest === undefined ? 0 : timeOf(stats.latest)),
  severity: ({ finding }) => -SEVERITIES.indexOf(severityOf(finding)),
}

/** Returns the instances that match a query, in its order. */
export function chosenInstances(all: readonly StoredInstance[], query: Instances): StoredInstance[] {
  const chosen = all.filter(
    ({ id, asset, is_archived, affliction_date }) =>
      is(is_archived, query.archived) &&
      among(asset.id, query.asset_ids) &&
      among(id, query.finding_instance_ids) &&
      has(asset.name, query.search) &&
      between(affliction_date, query.min_affliction_date, query.max_affliction_date),
  )
  const key = query.order === 'asset.name' ? byAsset : byDate
  return sorted(chosen, key, query.direction)
}

const byAsset = ({ asset }: StoredInstance): Key => asset.name
const byDate = ({ affliction_date }: StoredInstance): Key => timeOf(affliction_date)

/** Sorts stably and computes each key once. */
export function sorted<T>(all: readonly T[], key: (one: T) => Key, direction: 'asc' | 'desc'): T[] {
  const sign = direction === 'asc' ? 1 : -1
  const keyed = all.map((one) => [key(one), one] as const)
  return keyed.sort(([a], [b]) => (a === b ? 0 : a < b ? -sign : sign)).map(([, one]) => one)
}
