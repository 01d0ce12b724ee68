import type { AuthenticationProviderArgs, Authenticator, Mechanism, SaslAuthenticateArgs } from 'kafkajs'

interface Credentials {
  readonly mechanism: 'scram-sha-256' | 'scram-sha-512'
  readonly username: string
  readonly password: string
}

type Provider = (credentials: Credentials) => (exchange: AuthenticationProviderArgs) => Authenticator

/** Each is a hash of the password: a server could keep a thread busy for hours. Servers ask for 4,096 to 16,384. */
const MAX_ITERATIONS = 100_000

/** Stands in the error where a server asks for more. */
export const TOO_MANY_ITERATIONS = 'too many iterations'

/** SCRAM (RFC 5802) as the client library has it, but not with servers that ask for unreasonable work. */
export async function boundedScram(credentials: Credentials): Promise<Mechanism> {
  const provider = (await builtIn(credentials.mechanism))(credentials)
  return {
    mechanism: credentials.mechanism,
    authenticationProvider: (exchange) =>
      provider({
        ...exchange,
        async saslAuthenticate<Response>(messages: SaslAuthenticateArgs<Response>) {
          const response = await exchange.saslAuthenticate(messages)
          const { i: iterations } = (response ?? {}) as { i?: string }
          if (iterations !== undefined && !(Number(iterations) <= MAX_ITERATIONS)) throw new Error(TOO_MANY_ITERATIONS)
          return response
        },
      }),
  }
}

/** The library keeps them to itself, without types. */
async function builtIn(mechanism: Credentials['mechanism']): Promise<Provider> {
  const path = `kafkajs/src/broker/saslAuthenticator/${mechanism === 'scram-sha-256' ? 'scram256' : 'scram512'}.js`
  return ((await import(path)) as { default: Provider }).default
}
