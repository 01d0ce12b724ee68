import { createHash } from 'node:crypto'
import { flatGrant } from './access.js'
import type { Caller, ControlConfig } from '../context.js'

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

interface Known {
  readonly hash: string
  readonly caller: Caller
}

/** Accounts, zones, tokens and keys of the configuration, each by its lookup key. */
export interface ConfigIndex {
  readonly accounts: ReadonlyMap<string, ControlConfig['accounts'][number]>
  readonly zones: ReadonlyMap<string, ControlConfig['zones'][number]>
  /** By name. */
  readonly lists: ReadonlyMap<string, ControlConfig['lists'][number]>
  /** By the SHA-256 of the token. */
  readonly tokens: ReadonlyMap<string, Known>
  /** By the e-mail address in lower case. */
  readonly keys: ReadonlyMap<string, Known>
}

const prepared = new WeakMap<ControlConfig, ConfigIndex>()

/** Builds the index once for each configuration. */
export function configIndex(config: ControlConfig): ConfigIndex {
  const ready = prepared.get(config) ?? prepare(config)
  prepared.set(config, ready)
  return ready
}

function prepare({ accounts, zones, tokens, lists, legacy_keys: keys }: ControlConfig): ConfigIndex {
  return {
    accounts: new Map(accounts.map((account) => [account.id, account])),
    zones: new Map(zones.map((zone) => [zone.id, zone])),
    lists: new Map(lists.map((list) => [list.name, list])),
    tokens: new Map(
      tokens.map((token) => {
        const hash = sha256(token.token)
        const grants = [flatGrant(token)]
        return [hash, { hash, caller: { type: 'token', id: namedId(`token:${token.name}`), name: token.name, grants } }]
      }),
    ),
    keys: new Map(
      keys.map(({ email, key, ...access }) => [
        email.toLowerCase(),
        {
          hash: sha256(key),
          caller: { type: 'key', id: namedId(`key:${email}`), name: email, email, grants: [flatGrant(access)] },
        },
      ]),
    ),
  }
}

/** Returns an id for a configured token, derived from its name so that it reveals nothing of the secret. */
const namedId = (name: string): string => sha256(name).slice(0, 32)
