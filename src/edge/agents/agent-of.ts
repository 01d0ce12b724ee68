import type { Agent, AgentIdentity } from '../../agents/identity.js'
import type { Exchange } from '../exchange/exchange.js'

/** The fields of a request that name an agent. */
interface AgentFields {
  readonly userAgent: string | undefined
  readonly isSigned: boolean
  readonly host: string | undefined
}

const NO_KEYS = {}

/** Returns the agent that sent a request, as the request came and before rules change it. Waits for nothing. */
export function agentOf(
  identity: AgentIdentity,
  exchange: Exchange,
  { userAgent = '', isSigned, host = '' }: AgentFields,
): Agent | undefined {
  if (exchange.zone.isPaused || (userAgent === '' && !isSigned)) return undefined
  const { method, scheme, rawTarget, clientAddress, clientShare, zone } = exchange
  return identity.identify({
    userAgent,
    clientAddress,
    share: clientShare ?? clientAddress,
    keys: zone.agents?.web_bot_auth.keys ?? NO_KEYS,
    signed: isSigned ? { method, scheme, authority: host, target: rawTarget, fields: exchange.rawHeaders } : undefined,
  })
}
