import { createHash, createHmac, pbkdf2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import type { AuthenticationProviderArgs, Mechanism } from 'kafkajs'

export interface ScramCredentials {
  readonly mechanism: 'scram-sha-256' | 'scram-sha-512'
  readonly username: string
  readonly password: string
}

const DIGESTS = { 'scram-sha-256': { name: 'sha256', bytes: 32 }, 'scram-sha-512': { name: 'sha512', bytes: 64 } }

/**
 * Bounds of iterations. Each iteration is a hash of the password. Fewer are unsafe. A hostile server could request
 * enough to block a thread for hours.
 */
const MIN_ITERATIONS = 4096
const MAX_ITERATIONS = 100_000

/** Contained in the error if a server asks for more. */
export const TOO_MANY_ITERATIONS = 'too many iterations'

const derive = promisify(pbkdf2)

/** SCRAM (RFC 5802) for Kafka, with a limit on the work that a server can ask for. */
export function boundedScram(credentials: ScramCredentials): Mechanism {
  return {
    mechanism: credentials.mechanism,
    authenticationProvider: (exchange) => ({
      authenticate: async () => {
        try {
          await authenticate(credentials, exchange)
        } catch (error) {
          // The name by which the sink recognizes errors of authentication.
          throw Object.assign(new Error(error instanceof Error ? error.message : ''), { name: 'SASLError' })
        }
      },
    }),
  }
}

async function authenticate(
  { mechanism, username, password }: ScramCredentials,
  { saslAuthenticate }: Pick<AuthenticationProviderArgs, 'saslAuthenticate'>,
): Promise<void> {
  const { name, bytes } = DIGESTS[mechanism]
  const hmac = (key: Buffer, text: string): Buffer => createHmac(name, key).update(text).digest()
  const nonce = randomBytes(24).toString('base64')
  // Commas and equals signs are escaped (RFC 5802, 5.1).
  const user = username.replaceAll('=', '=3D').replaceAll(',', '=2C')
  const firstBare = `n=${user},r=${nonce}`

  const serverFirst = await said(saslAuthenticate, `n,,${firstBare}`)
  const { r: serverNonce = '', s: salt = '', i: count = '' } = attributes(serverFirst)
  const iterations = /^\d{1,10}$/.test(count) ? Number(count) : 0
  if (!serverNonce.startsWith(nonce) || serverNonce === nonce) throw new Error('the server changed the nonce')
  if (iterations < MIN_ITERATIONS) throw new Error('too few iterations')
  if (iterations > MAX_ITERATIONS) throw new Error(TOO_MANY_ITERATIONS)

  const salted = await derive(password, Buffer.from(salt, 'base64'), iterations, bytes, name)
  const withoutProof = `c=${Buffer.from('n,,').toString('base64')},r=${serverNonce}`
  const exchange = `${firstBare},${serverFirst},${withoutProof}`
  const clientKey = hmac(salted, 'Client Key')
  const signature = hmac(createHash(name).update(clientKey).digest(), exchange)
  const proof = Buffer.from(clientKey.map((byte, at) => byte ^ signature[at]!)).toString('base64')

  const { v: verifier = '' } = attributes(await said(saslAuthenticate, `${withoutProof},p=${proof}`))
  const expected = hmac(hmac(salted, 'Server Key'), exchange)
  const given = Buffer.from(verifier, 'base64')
  if (given.length !== expected.length || !timingSafeEqual(given, expected))
    throw new Error('the server does not know the password')
}

/** Sends a message and returns the message of the server. Both are bytes with their length before them (KIP-152). */
async function said(
  saslAuthenticate: AuthenticationProviderArgs['saslAuthenticate'],
  message: string,
): Promise<string> {
  const bytes = Buffer.from(message)
  const sized = Buffer.alloc(4 + bytes.length)
  sized.writeInt32BE(bytes.length)
  sized.set(bytes, 4)
  const response = await saslAuthenticate<string>({
    request: { encode: () => sized },
    response: { decode: withoutLength, parse: String },
  })
  return response ?? ''
}

const withoutLength = (bytes: Buffer): Buffer => bytes.subarray(4, 4 + Math.max(0, bytes.readInt32BE(0)))

/** The attributes of a message, `name=value` with commas between them. */
const attributes = (message: string): Readonly<Partial<Record<string, string>>> =>
  Object.fromEntries(message.split(',').map((part) => [part.slice(0, 1), part.slice(2)]))
