import { toBytes, type Getter } from '../../expr/index.js'
import type { RuleAgent } from '../types.js'
import type { FieldSource } from './source.js'

const text =
  (read: (agent: RuleAgent) => string): Getter<FieldSource> =>
  ({ exchange: { agent } }) =>
    agent === undefined ? '' : toBytes(read(agent))

const isVerified: Getter<FieldSource> = ({ exchange: { agent } }) => agent?.isVerifiedBot ?? false

/** Fields of the agent that sent a request. Clients that are no agent have empty texts. */
export const AGENT_GETTERS: Readonly<Record<string, Getter<FieldSource>>> = {
  'edged.agent.name': text(({ name }) => name),
  'edged.agent.operator': text(({ operator }) => operator),
  'edged.agent.category': text(({ category }) => category),
  'edged.agent.verified': ({ exchange: { agent } }) => agent?.verified ?? 'none',
  'cf.client.bot': isVerified,
  'cf.bot_management.verified_bot': isVerified,
  'cf.bot_management.signed_agent': ({ exchange: { agent } }) =>
    agent?.isVerifiedBot === true && agent.verified === 'signature',
  'cf.verified_bot_category': text(({ verifiedBotCategory }) => verifiedBotCategory),
}
