import { trust, visitorAddress, type Trust } from '../../../src/edge/client/client-address.js'
import { plainAddress } from '../../../src/expr/language/ip.js'
import type { ControlDeps, ApiMiddleware } from '../context.js'

/**
 * Sets the address of the client. If `control.trusted_proxies` lists the peer, this is the address that
 * `X-Forwarded-For` reports, else the address of the peer. The address is empty for a peer on a unix socket.
 */
export function clientAddress({ config }: Pick<ControlDeps, 'config'>): ApiMiddleware {
  let cidrs: readonly string[] = []
  let trusted: Trust = trust(cidrs)
  return async (ctx, next) => {
    const { trusted_proxies: current } = config().control
    if (current !== cidrs) trusted = trust((cidrs = current))
    const peer = plainAddress(ctx.req.socket.remoteAddress ?? '')
    ctx.state.clientAddress = visitorAddress(peer, ctx.get('x-forwarded-for') || undefined, trusted)
    await next()
  }
}
