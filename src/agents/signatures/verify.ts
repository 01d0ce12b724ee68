import { constants, createHash, verify } from 'node:crypto'
import { isInnerList, type Dictionary, type InnerList, type Item } from 'structured-headers'
import { directoryOf, type AgentDirectory } from './signature-agent.js'
import type { VerificationKey } from './keys.js'
import { BadComponent, bytesOf, dictionaryOf, fieldValue, signatureBase, type SignedMessage } from './message.js'

/**
 * Results of a verifier (Web Bot Auth, "Verifier Outcomes"). `invalid`: a signature of this protocol that fails.
 * `unverified`: not enough is known to decide. `none`: no signature of this protocol.
 */
export type Outcome = 'verified' | 'invalid' | 'unverified' | 'none'

/** A signature that holds. */
export interface VerifiedSignature {
  /** Origin or address that `Signature-Agent` names. */
  readonly agent: AgentDirectory
  readonly keyid: string
  /** The signature itself, as text that differs for different signatures. */
  readonly signature: string
  /** Names of covered header fields and derived components. */
  readonly covered: ReadonlySet<string>
  /** Seconds since 1970. */
  readonly expires: number
}

/** The verdict about a request. */
export interface Verdict {
  readonly outcome: Outcome
  /** Why, in one or two words. */
  readonly reason: string
  /** The signatures that hold, in the order of Signature-Input. */
  readonly verified: readonly VerifiedSignature[]
}

/** Why there is no key: the directory could not be read yet, or does not have it. */
export type NoKey = 'directory' | 'key'

/** The keys, and the results of earlier verifications. */
export interface VerifierDeps {
  /** Returns a key by its directory and thumbprint, or why there is none. */
  key(directory: AgentDirectory, keyid: string): VerificationKey | NoKey
  /** Returns whether a further verification is allowed now. */
  mayVerify(): boolean
  readonly verdicts: VerdictCache
}

/** Remembers verdicts about signatures. */
export interface VerdictCache {
  get(id: string): { readonly key: VerificationKey['key']; readonly holds: boolean } | undefined
  set(id: string, verdict: { readonly key: VerificationKey['key']; readonly holds: boolean }): void
}

const TAG = 'web-bot-auth'
const MAX_SIGNATURES = 8
const MAX_SKEW = 30
const MAX_LIFETIME = 86_400

const none = (reason: string): Verdict => ({ outcome: 'none', reason, verified: [] })
const invalid = (reason: string) => ({ outcome: 'invalid', reason }) as const
const unverified = (reason: string) => ({ outcome: 'unverified', reason }) as const

type Judged = ReturnType<typeof invalid> | ReturnType<typeof unverified> | VerifiedSignature

/** Verifies the signatures of a request (RFC 9421, Web Bot Auth). `now` is in seconds. Each signature is judged alone. */
export function verifyRequest(message: SignedMessage, now: number, deps: VerifierDeps): Verdict {
  const input = fieldValue(message.fields, 'signature-input')
  const signature = fieldValue(message.fields, 'signature')
  if (input === undefined || signature === undefined) return none('unsigned')
  const inputs = dictionaryOf(input)
  const signatures = dictionaryOf(signature)
  if (inputs === undefined || signatures === undefined) return { ...invalid('syntax'), verified: [] }
  const tagged = [...inputs].filter(
    (entry): entry is [string, InnerList] => isInnerList(entry[1]) && entry[1][1].get('tag') === TAG,
  )
  if (tagged.length === 0) return none('tag')
  if (tagged.length > MAX_SIGNATURES) return { ...invalid('signatures'), verified: [] }
  if (message.scheme !== 'https') return { ...unverified('scheme'), verified: [] }
  const judged = tagged.map(([label, list]) => judge(message, { label, list, signatures }, now, deps))
  const verified = judged.filter((one): one is VerifiedSignature => !('outcome' in one))
  if (verified.length > 0) return { outcome: 'verified', reason: 'signature', verified }
  const failed = judged.filter((one) => 'outcome' in one)
  return { ...(failed.find(({ outcome }) => outcome === 'invalid') ?? failed[0]!), verified: [] }
}

function judge(
  message: SignedMessage,
  { label, list, signatures }: { label: string; list: InnerList; signatures: Dictionary },
  now: number,
  deps: VerifierDeps,
): Judged {
  const parameters = list[1]
  const [created, expires, keyid] = ['created', 'expires', 'keyid'].map((name) => parameters.get(name))
  if (!Number.isInteger(created) || !Number.isInteger(expires) || typeof keyid !== 'string')
    return invalid('parameters')
  const period = periodIssue(Number(created), Number(expires), now)
  if (period !== undefined) return invalid(period)
  const alg = parameters.get('alg')
  if (alg !== undefined && alg !== 'ed25519' && alg !== 'rsa-pss-sha512') return invalid('alg')
  const bytes = bytesOf(signatures.get(label))
  if (bytes === undefined) return invalid('syntax')
  const agentField = fieldValue(message.fields, 'signature-agent')
  if (agentField === undefined) return unverified('no URL')
  const covered = coveredNames(list[0])
  if (!covered.has('@authority') && !covered.has('@target-uri')) return invalid('components')
  if (!covered.has('signature-agent')) return invalid('components')
  let base: string
  try {
    base = signatureBase(message, list)
  } catch (error) {
    if (error instanceof BadComponent) return invalid('components')
    throw error
  }
  const directory = directoryOf(agentField, label, list[0])
  if (directory === undefined) return unverified('agent')
  const key = deps.key(directory, keyid)
  if (typeof key === 'string') return unverified(key)
  if (alg !== undefined && alg !== key.algorithm) return invalid('alg')
  const holds = isSigned(base, bytes, directory, key, deps)
  if (holds === undefined) return unverified('limit')
  if (!holds) return invalid('signature')
  return { agent: directory, keyid, signature: bytes.toString('base64'), covered, expires: Number(expires) }
}

function periodIssue(created: number, expires: number, now: number): string | undefined {
  if (created > now + MAX_SKEW) return 'created'
  if (expires < now - MAX_SKEW || expires < created) return 'expired'
  return expires - created > MAX_LIFETIME ? 'lifetime' : undefined
}

const coveredNames = (components: readonly Item[]): ReadonlySet<string> =>
  new Set(components.flatMap(([name]) => (typeof name === 'string' ? [name] : [])))

/** Returns whether a key made a signature. Undefined if it would have to be verified and must not be now. */
function isSigned(
  base: string,
  bytes: Buffer,
  { url }: AgentDirectory,
  { key, algorithm }: VerificationKey,
  deps: VerifierDeps,
): boolean | undefined {
  const data = Buffer.from(base, 'latin1')
  const id = createHash('sha256').update(url).update('\n').update(data).update('\n').update(bytes).digest('base64')
  const known = deps.verdicts.get(id)
  // A key that the directory no longer has, or has changed, is another object or is not found at all.
  if (known?.key === key) return known.holds
  if (!deps.mayVerify()) return undefined
  const holds =
    algorithm === 'ed25519'
      ? verify(null, data, key, bytes)
      : verify('sha512', data, { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 64 }, bytes)
  deps.verdicts.set(id, { key, holds })
  return holds
}
