import type * as jetstream from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { natsTarget, type NatsTarget } from './target.js'

const CONNECT_MS = 5000
/** A connection without a response to two pings is closed. */
const PING_MS = 5000

/** The client library, loaded at its first use, so that tests can inject servers that fail. */
export interface NatsLibrary {
  readonly jetstream: () => Promise<
    Pick<typeof jetstream, 'DiscardPolicy' | 'JetStreamApiError' | 'StorageType' | 'jetstream' | 'jetstreamManager'>
  >
  readonly connect: (target: NatsTarget) => Promise<NatsConnection>
}

/** Connects once, without attempts to connect again. */
async function connected({ servers, user, password: pass, tls }: NatsTarget): Promise<NatsConnection> {
  const { connect } = await import('@nats-io/transport-node')
  return await connect({
    servers: [...servers],
    name: 'edged log spool',
    timeout: CONNECT_MS,
    reconnect: false,
    pingInterval: PING_MS,
    maxPingOut: 2,
    ...(tls && { tls }),
    ...(user !== undefined && { user }),
    ...(pass !== undefined && { pass }),
  })
}

export const LIBRARY: NatsLibrary = { jetstream: async () => await import('@nats-io/jetstream'), connect: connected }

/** Connects once and returns the description of one of the servers. */
export async function natsServer(url: string): Promise<{ readonly version: string; readonly jetstream: boolean }> {
  const connection = await connected(natsTarget(url))
  try {
    const { version = 'unknown', jetstream = false } = connection.info ?? {}
    return { version, jetstream }
  } finally {
    await connection.close()
  }
}
