import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { AgentIdentity, type IdentityDeps } from '../../src/agents/identity.js'
import { DIRECTORY_TYPE } from '../../src/agents/signatures/directories.js'
import { systemClock } from '../../src/core/clock.js'
import { silentLog } from '../../src/core/log.js'
import type { Teardown } from './proxy.js'

/** Creates the recognition of agents, without a network. */
export function testIdentity(t: Teardown, deps: Partial<IdentityDeps> = {}): AgentIdentity {
  const agents = new AgentIdentity({
    fetchKeys: async () => await Promise.reject(new Error('no network')),
    fetchList: async () => await Promise.reject(new Error('no network')),
    reverse: async () => [],
    resolve: async () => [],
    judged: () => undefined,
    clock: systemClock,
    log: silentLog,
    ...deps,
  })
  t.teardown(() => agents.close())
  return agents
}

/** Contents of a signed request besides the host. */
interface SignOptions {
  /** Further fields among the components. */
  readonly fields?: Readonly<Record<string, string>>
  readonly nonce?: string
  /** Seconds since 1970. */
  readonly created?: number
  readonly lifetime?: number
}

/** A signer of requests (Web Bot Auth) with one key. */
export class Signer {
  readonly origin: string
  readonly keyid: string
  readonly jwk: object
  readonly #key

  constructor(origin = 'https://www.meta.com') {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    const { crv, kty, x } = publicKey.export({ format: 'jwk' })
    this.origin = origin
    this.jwk = { crv, kty, x }
    this.keyid = createHash('sha256').update(JSON.stringify(this.jwk)).digest('base64url')
    this.#key = privateKey
  }

  /** The key directory, as it is fetched. */
  readonly fetchKeys = async () => ({
    status: 200,
    type: DIRECTORY_TYPE,
    headers: {},
    bytes: Buffer.from(JSON.stringify({ keys: [this.jwk] })),
  })

  /** Returns the fields of a signed request to a host. */
  fields(
    authority: string,
    { fields = {}, nonce = '1', created = Math.floor(Date.now() / 1000), lifetime = 60 }: SignOptions = {},
  ): Record<string, string> {
    const names = Object.keys(fields).map((name) => ` "${name}"`)
    const parameters = `("@authority" "signature-agent";key="a"${names.join('')});created=${created};expires=${created + lifetime};keyid="${this.keyid}";nonce="${nonce}";tag="web-bot-auth"`
    const lines = Object.entries(fields).map(([name, value]) => `"${name}": ${value}\n`)
    const base = `"@authority": ${authority}\n"signature-agent";key="a": "${this.origin}"\n${lines.join('')}"@signature-params": ${parameters}`
    return {
      ...fields,
      'signature-agent': `a="${this.origin}"`,
      'signature-input': `sig=${parameters}`,
      signature: `sig=:${sign(null, Buffer.from(base), this.#key).toString('base64')}:`,
    }
  }
}
