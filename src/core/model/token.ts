import { Type, type Static } from 'typebox'
import { mapOf, strict } from '../schema.js'
import { kind } from '../store.js'

/** Resources of a policy: `com.cloudflare.api.account.<id>` and the like, to `*` or to the same one level below. */
export const TokenResources = mapOf(
  Type.Union([Type.Literal('*'), mapOf(Type.Literal('*'), { maxProperties: 1000 })]),
  { maxProperties: 1000 },
)
export type TokenResources = Static<typeof TokenResources>

/** One policy of a token, with allowed or denied permissions and their resources. */
export const TokenPolicy = Type.Object(
  {
    id: Type.String(),
    effect: Type.Enum(['allow', 'deny']),
    /** Names of permissions, or `*`. */
    permissions: Type.Array(Type.String()),
    resources: TokenResources,
  },
  strict,
)
export type TokenPolicy = Static<typeof TokenPolicy>

const Networks = Type.Array(Type.String({ maxLength: 43, description: 'IP address or CIDR.' }), { maxItems: 100 })

/** Client addresses that may use a token. */
export const TokenCondition = Type.Object(
  {
    request_ip: Type.Optional(Type.Object({ in: Type.Optional(Networks), not_in: Type.Optional(Networks) }, strict)),
  },
  strict,
)
export type TokenCondition = Static<typeof TokenCondition>

/** A stored API token, with its secret only as SHA-256. The scope is the daemon, or the account that owns it. */
export const Token = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    /** SHA-256 of the secret, hexadecimal. */
    hash: Type.String(),
    status: Type.Union([Type.Literal('active'), Type.Literal('disabled')]),
    policies: Type.Array(TokenPolicy),
    issued_on: Type.String(),
    modified_on: Type.String(),
    not_before: Type.Optional(Type.String()),
    expires_on: Type.Optional(Type.String()),
    condition: Type.Optional(TokenCondition),
  },
  strict,
)
export type Token = Static<typeof Token>
export const TOKEN = kind<Token>('token')

/** An index of tokens by secret. The id of this record is the secret's SHA-256. The scope is the daemon. */
export interface Credential {
  readonly token_id: string
  /** The account that owns the token. */
  readonly account_id?: string
}
export const CREDENTIAL = kind<Credential>('credential')

/**
 * Wrong credentials that one machine counted, for the other machines. The scope is the daemon. The id is the machine.
 */
export interface FailedWindows {
  readonly windows: readonly {
    /** An address, or the network of an IPv6 address. */
    readonly network: string
    readonly failures: number
    /** Milliseconds since 1970. */
    readonly until: number
  }[]
}
export const FAILED_ATTEMPTS = kind<FailedWindows>('failed_attempts')

/** When a token was last used, to within some minutes. Has the scope and id of the token. */
export const TOKEN_USES = kind<{ readonly at: string }>('token_use')
