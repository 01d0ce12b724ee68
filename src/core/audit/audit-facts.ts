import { digest } from '../digest.js'
import type { AuditEntry } from '../store.js'

/** Names of an audit entry in the public API and its log records. */
export interface AuditFacts {
  /** A UUID, the same whenever the entry is read. */
  readonly id: string
  readonly description: string
  readonly actorType: 'user' | 'system'
  /** Undefined for changes by the daemon itself. */
  readonly context: 'api_token' | 'api_key' | undefined
  readonly email: string | undefined
  readonly tokenId: string | undefined
  readonly tokenName: string | undefined
  readonly resourceScope: 'accounts' | 'zones' | 'user'
}

const CONTEXTS: Readonly<Record<string, AuditFacts['context']>> = { token: 'api_token', key: 'api_key' }
const SCOPES = { account: 'accounts', zone: 'zones', daemon: 'user' } as const

export function auditFacts({ at, actor, action, resource, requestId }: AuditEntry): AuditFacts {
  const { type, id, name } = actor
  const context = CONTEXTS[type]
  const isToken = context === 'api_token'
  return {
    id: uuidOf(digest([at, requestId, action, resource.kind, resource.scope, resource.id]) ?? ''),
    description: `${action} ${resource.kind} ${resource.id}`,
    actorType: context === undefined ? 'system' : 'user',
    context,
    email: context === 'api_key' ? name : undefined,
    tokenId: isToken ? id : undefined,
    tokenName: isToken ? name : undefined,
    resourceScope: SCOPES[resource.scope.type],
  }
}

const uuidOf = (hex: string): string =>
  [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-')
