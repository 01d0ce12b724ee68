import { isIP } from 'node:net'
import type { GuardedEgress } from '../../egress/guarded-egress.js'
import { cachedResolve } from '../../egress/name-cache.js'
import { isOwnListener } from '../../egress/own-listeners.js'
import { hostOf, portOf } from '../../egress/public-url.js'
import type { OriginIssue } from '../../../control/http/context.js'
import type { DialGuard } from '../../http/connector.js'

/**
 * Decides which hosts and ports rules can set: public addresses and those that `egress.allow_cidrs` allows.
 * Listeners of the daemon, whose ports are `ports`, are never allowed. Origins of the configuration do not come here.
 */
export function dialGuard(egress: GuardedEgress, ports: ReadonlySet<number>): DialGuard {
  return {
    get rules() {
      return egress.rules
    },
    allows: (address, port) => !isOwnListener(address, port, ports) && egress.allows(address, port),
    resolve: cachedResolve((name, zone) => egress.resolve(name, zone)),
  }
}

/** Returns why requests cannot be sent to an origin; undefined if they can. A name that does not resolve may do so later. */
export const originIssue =
  (egress: GuardedEgress, ports: ReadonlySet<number>) =>
  async (origin: URL): Promise<OriginIssue | undefined> => {
    const host = hostOf(origin)
    const port = portOf(origin)
    const addresses = isIP(host) === 0 ? await egress.resolve(host).catch(() => []) : [host]
    if (addresses.some((address) => isOwnListener(address, port, ports)))
      return { message: 'the address is a listener of this server', isLasting: true }
    if (addresses.length === 0)
      return { message: `the name ${host} does not resolve; requests get 502 until it does`, isLasting: false }
    return addresses.every((address) => egress.allows(address, port))
      ? undefined
      : {
          message:
            'the address is not allowed; the operator can allow it with egress.allow_cidrs in the configuration file',
          isLasting: true,
        }
  }
