import { readFileSync } from 'node:fs'
import { Agent as HttpAgent } from 'node:http'
import { Agent, type AgentOptions as TlsAgentOptions } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import { silentLog, type Log } from '../../src/core/log.js'
import { openMetrics } from '../../src/core/metrics/metrics.js'
import type { Egress } from '../../src/egress/egress.js'
import { GuardedEgress, readEgress, type EgressConfig, type Resolve } from '../../src/egress/guarded-egress.js'
import { CA_FILE } from './tls.js'

/**
 * Egress on which every HTTPS connection ends at one server of the test. `dialled` receives the target of each. For
 * destinations whose hosts are fixed by their owners.
 */
export function diverted(port: number, dialled: string[]): Egress {
  class Diverting extends Agent {
    override createConnection(options: TlsAgentOptions): TLSSocket {
      dialled.push(`${options.host}:${options.port}`)
      // The certificate of the tests is not valid for that host. Only the requested name matters.
      return connect({ ...options, host: '127.0.0.1', port, ca: readFileSync(CA_FILE), checkServerIdentity })
    }
  }
  const [http, https] = [new HttpAgent(), new Diverting()]
  const destroy = () => https.destroy()
  return {
    check: async () => {},
    connect: () => Promise.reject(new Error('only HTTPS is diverted')),
    agents: () => ({ http, https, retire: destroy, destroy }),
  }
}

const checkServerIdentity = () => undefined

/** Error of a resolver for names that tests do not know. */
const noSuchName: Resolve = async (name) => {
  throw Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), { code: 'ENOTFOUND' })
}

/** Creates the egress of the product, with what the configuration allows and the resolver of the test. */
export async function testEgress(
  config: Partial<EgressConfig> = {},
  { resolve = noSuchName, log = silentLog }: { resolve?: Resolve; log?: Log } = {},
): Promise<GuardedEgress> {
  const rules = await readEgress({ allow_cidrs: [], resolver_overrides: {}, ...config })
  return new GuardedEgress(rules, { log, metrics: openMetrics({ process: false }), resolve })
}

/** Creates egress to servers on 127.0.0.1, by address or as `receiver.test`, that trusts the authority of the tests. */
export async function openEgress(servers: readonly Server[], how?: Parameters<typeof testEgress>[1]) {
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  const opened = {
    allow_cidrs: ports.map((port) => `127.0.0.1/32:${port}`),
    ca_file: CA_FILE,
    resolver_overrides: { 'receiver.test': ['127.0.0.1'] },
  }
  return await testEgress(opened, how)
}
