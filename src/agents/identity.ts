import type { Clock } from '../core/clock.js'
import type { Log } from '../core/log.js'
import type { AgentFacts } from './access/access.js'
import { AddressLists, type AddressListsDeps } from './addresses/address-lists.js'
import { ReverseNames, type ReverseNamesDeps } from './addresses/reverse-names.js'
import { BUILT_IN_CATALOGUE, type Catalogue } from './catalogue/catalogue.js'
import type { AgentEntry } from './catalogue/form.js'
import { UserAgentMatcher } from './catalogue/matcher.js'
import { networksOf, type Networks } from './addresses/networks.js'
import { KeyDirectories, type DirectoriesDeps } from './signatures/directories.js'
import { RecentVerdicts } from './signatures/recent-verdicts.js'
import type { SignedMessage } from './signatures/message.js'
import type { AgentDirectory } from './signatures/signature-agent.js'
import { ClientRate } from './signatures/client-rate.js'
import { verifyRequest, type Verdict, type VerifiedSignature } from './signatures/verify.js'

/** The agent that sent a request. */
export interface Agent extends AgentFacts {
  /** Value of `cf.verified_bot_category`: "" unless the agent is known and verified. */
  readonly verifiedBotCategory: string
  /** The agent is verified, and of the catalogue or of the keys that the operator gave. */
  readonly isVerifiedBot: boolean
  /** Undefined unless a signature verifies the agent. */
  readonly signature: VerifiedSignature | undefined
}

/** What identification reads of a request. */
export interface AgentRequest {
  readonly userAgent: string
  readonly clientAddress: string
  /** Key of the client's share of limits. */
  readonly share: string
  /** Key sets of the zone by host of the signer. */
  readonly keys: Readonly<Record<string, string>>
  /** Undefined if the request has no field Signature-Input. */
  readonly signed: SignedMessage | undefined
}

export interface IdentityOptions {
  readonly catalogue: Catalogue
  readonly verify_addresses: boolean
}

export interface IdentityDeps {
  readonly fetchKeys: DirectoriesDeps['fetch']
  readonly fetchList: AddressListsDeps['fetch']
  readonly reverse: ReverseNamesDeps['reverse']
  readonly resolve: ReverseNamesDeps['resolve']
  /** Counts a verdict about signatures. */
  readonly judged: (verdict: Verdict) => void
  readonly clock: Clock
  readonly log: Log
}

/** A verification costs 70 to 110 us. */
const VERIFICATIONS = { periodMs: 1000, perClient: 50 }

/** Recognizes agents: by the signature of their request, else by their User-Agent, which their address may confirm. */
export class AgentIdentity {
  readonly directories: KeyDirectories
  readonly reverseNames: ReverseNames
  readonly #lists: AddressLists
  readonly #deps: IdentityDeps
  readonly #verdicts = new RecentVerdicts()
  readonly #rate: ClientRate
  /** The agents that are known. */
  catalogue: Catalogue = BUILT_IN_CATALOGUE
  #matcher: UserAgentMatcher
  #verifiesAddresses = false
  /** By agents whose catalogue entry has addresses. */
  #networks = new Map<AgentEntry, Networks>()
  /** By origin of a key directory. */
  #signers = new Map<string, AgentEntry>()
  /** Agents without a signature, by entry: none for the first member, by address for the second. */
  #agents = new Map<AgentEntry, readonly [Agent, Agent]>()

  constructor(deps: IdentityDeps) {
    const { clock, log } = deps
    this.#deps = deps
    this.directories = new KeyDirectories({ fetch: deps.fetchKeys, clock, log })
    this.reverseNames = new ReverseNames(deps)
    this.#lists = new AddressLists({ fetch: deps.fetchList, clock, log })
    this.#rate = new ClientRate(clock, VERIFICATIONS)
    this.#matcher = new UserAgentMatcher(BUILT_IN_CATALOGUE)
    this.configure({ catalogue: BUILT_IN_CATALOGUE, verify_addresses: false })
  }

  /** Uses another catalogue from the next request on. */
  configure({ catalogue, verify_addresses }: IdentityOptions): void {
    const entries = [...catalogue.values()]
    this.catalogue = catalogue
    this.#matcher = new UserAgentMatcher(catalogue)
    this.#networks = new Map(
      entries.flatMap((entry) => {
        const cidrs = entry.verify?.cidrs ?? []
        return cidrs.length > 0 ? [[entry, networksOf(cidrs)] as const] : []
      }),
    )
    this.#signers = new Map(
      entries.flatMap((entry) => (entry.verify?.web_bot_auth ?? []).map((origin) => [origin, entry] as const)),
    )
    this.#agents = new Map()
    this.#verifiesAddresses = verify_addresses
    this.#lists.follow(verify_addresses ? entries.flatMap(({ verify }) => verify?.ip_list ?? []) : [])
  }

  /** Returns the agent that sent a request, or undefined for any other client. Waits for nothing. */
  identify(request: AgentRequest): Agent | undefined {
    const signer = request.signed && this.#signer(request, request.signed)
    if (signer !== undefined) return signer
    const entry = request.userAgent === '' ? undefined : this.#matcher.find(request.userAgent)
    return entry && this.#agentsOf(entry)[this.#isAddressOf(entry, request.clientAddress) ? 1 : 0]
  }

  close(): void {
    this.#lists.close()
  }

  #signer({ share, keys }: AgentRequest, signed: SignedMessage): Agent | undefined {
    const verdict = verifyRequest(signed, Math.floor(this.#deps.clock.now() / 1000), {
      key: (directory, keyid) => {
        const replaced = ownText(keys, directory.host)
        return this.directories.key(directory, keyid, {
          share,
          replaced,
          isKnown: this.#entryOf(directory) !== undefined,
        })
      },
      mayVerify: () => this.#rate.take(share),
      verdicts: this.#verdicts,
    })
    this.#deps.judged(verdict)
    const [signature] = verdict.verified
    if (signature === undefined) return undefined
    const { host } = signature.agent
    const entry = this.#entryOf(signature.agent, Object.hasOwn(keys, host))
    const isKnown = entry !== undefined || Object.hasOwn(keys, host)
    return {
      name: entry?.name ?? host,
      operator: entry?.operator ?? host,
      category: entry?.category ?? 'other',
      verified: 'signature',
      verifiedBotCategory: entry?.verified_bot_category ?? (isKnown ? 'Other' : ''),
      isVerifiedBot: isKnown,
      signature,
    }
  }

  /**
   * Returns the entry of a signer. Its keys must come from its directory or from the operator, because other addresses of its
   * host may have files of anybody.
   */
  #entryOf({ origin, type }: AgentDirectory, isReplaced = false): AgentEntry | undefined {
    return type === 'directory' || isReplaced ? this.#signers.get(origin) : undefined
  }

  #agentsOf(entry: AgentEntry): readonly [Agent, Agent] {
    const known = this.#agents.get(entry)
    if (known) return known
    const { name, operator, category, verified_bot_category: verifiedBotCategory } = entry
    const facts = { name, operator, category, signature: undefined }
    const agents = [
      { ...facts, verified: 'none', verifiedBotCategory: '', isVerifiedBot: false },
      { ...facts, verified: 'address', verifiedBotCategory, isVerifiedBot: true },
    ] as const
    this.#agents.set(entry, agents)
    return agents
  }

  #isAddressOf(entry: AgentEntry, address: string): boolean {
    if (this.#networks.get(entry)?.has(address)) return true
    const { verify } = entry
    if (!this.#verifiesAddresses || verify === undefined) return false
    if (verify.ip_list?.some((url) => this.#lists.has(url, address))) return true
    return verify.rdns !== undefined && this.reverseNames.has(address, verify.rdns)
  }
}

const ownText = (texts: Readonly<Record<string, string>>, name: string): string | undefined =>
  Object.hasOwn(texts, name) ? texts[name] : undefined
