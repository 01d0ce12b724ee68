import type { RequestRecord } from '../../../core/model/requests/request-record.js'
import { toBytes, type Filter, type Value } from '../../../expr/index.js'
import { fieldContext } from '../../../rules/fields/index.js'
import type { FieldDeps } from '../../../rules/fields/source.js'
import type { Agent } from '../../../agents/identity.js'
import { Exchange } from '../../exchange/exchange.js'
import type { Zone } from '../../exchange/zones.js'

/**
 * Returns whether an expression matches a recorded request. What the record does not have is missing: bodies, cookies,
 * credentials, and query strings that are not kept. An evaluation that exceeds its budget does not match.
 */
export function matchesRecord(filter: Filter, record: RequestRecord, zone: Zone, fields: FieldDeps): boolean {
  try {
    return filter(fieldContext(replayed(record, zone), fields))
  } catch {
    return false
  }
}

function replayed(record: RequestRecord, zone: Zone): Exchange {
  const rawHeaders = ['host', toBytes(record.host), ...record.request.map(toBytes)]
  const exchange = new Exchange({
    rayId: record.ray,
    clientAddress: record.ip,
    scheme: record.scheme,
    served: { zone, host: toBytes(record.host), custom: undefined },
    method: toBytes(record.method),
    target: toBytes(record.path + (record.query ?? '')),
    httpVersion: record.http as Exchange['httpVersion'],
    rawHeaders,
    headers: rawHeaders,
    local: {},
    tls: undefined,
    trustedFields: placeOf(record),
    startedAt: record.at,
    startedMonotonic: 0,
  })
  exchange.agent = agentOf(record)
  // The cache adds its field, which is not one of those that are kept.
  const fields = record.cache === undefined ? record.response : [...record.response, 'cf-cache-status', record.cache]
  exchange.response = { status: record.status, headers: fields.map(toBytes), originHeaders: undefined }
  return exchange
}

/** The country is that of the whole address, which the record may not have. */
const placeOf = ({ country }: RequestRecord): ReadonlyMap<string, Value> | undefined =>
  country === undefined ? undefined : new Map([['ip.src.country', country]])

function agentOf({ agent }: RequestRecord): Agent | undefined {
  if (!agent) return undefined
  const { bot, ...facts } = agent
  return {
    ...(facts as Pick<Agent, 'name' | 'operator' | 'category' | 'verified'>),
    verifiedBotCategory: bot,
    isVerifiedBot: bot !== '',
    signature: undefined,
  }
}
