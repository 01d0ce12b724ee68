import type { AddressInfo, Server } from 'node:net'
import { silentLog, type Log } from '../../src/core/log.js'
import { openMetrics } from '../../src/core/metrics.js'
import { GuardedEgress, readEgress, type EgressConfig, type Resolve } from '../../src/net/guarded-egress.js'
import { CA_FILE } from './tls.js'

/** What a resolver says of names that tests do not know. */
const noSuchName: Resolve = async (name) => {
  throw Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), { code: 'ENOTFOUND' })
}

/** A way out as the product has it, with what the configuration opens; the resolver is the test's. */
export async function testEgress(
  config: Partial<EgressConfig> = {},
  { resolve = noSuchName, log = silentLog }: { resolve?: Resolve; log?: Log } = {},
): Promise<GuardedEgress> {
  const rules = await readEgress({ allow_cidrs: [], resolver_overrides: {}, ...config })
  return new GuardedEgress(rules, { log, metrics: openMetrics({ process: false }), resolve })
}

/** A way out to servers on 127.0.0.1, by address or as `receiver.test`, that trusts the authority of the tests. */
export async function openEgress(servers: readonly Server[], how?: Parameters<typeof testEgress>[1]) {
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  const opened = {
    allow_cidrs: ports.map((port) => `127.0.0.1/32:${port}`),
    ca_file: CA_FILE,
    resolver_overrides: { 'receiver.test': ['127.0.0.1'] },
  }
  return await testEgress(opened, how)
}
