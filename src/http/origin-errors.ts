import { allowEntry } from '../core/printable.js'

/** An origin has its maximum number of requests, or the maximum number of origins is in use. */
export class Overloaded extends Error {
  override readonly name = 'Overloaded'
}

/** No connection became free in time. */
export class WaitedTooLong extends Error {
  override readonly name = 'WaitedTooLong'
}

/** The origin sent an invalid response. The message contains the reason, for the log. */
export class InvalidResponse extends Error {
  override readonly name = 'InvalidResponse'
}

/** The origin exceeded a timeout. */
export class TooSlow extends Error {
  override readonly name = 'TooSlow'
  readonly kind: 'connect_timeout' | 'headers_timeout' | 'body_timeout'

  constructor(kind: TooSlow['kind'], message: string) {
    super(message)
    this.kind = kind
  }
}

/** The connection to the origin broke before the response was complete. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost'
  /**
   * The connection had carried a response before, and broke before a byte of this one arrived. The origin was probably
   * closing it when the request was sent, and has never seen the request.
   */
  readonly stale: boolean

  constructor(message: string, stale: boolean, options?: ErrorOptions) {
    super(message, options)
    this.stale = stale
  }
}

/** The API named a host whose address is not allowed. The message is for the log, because it contains the address. */
export class TargetDenied extends Error {
  override readonly name = 'TargetDenied'

  constructor(host: string, address: string, port: number) {
    const found = host === address ? host : `${host} resolves to ${address}, which`
    super(
      `${found} is not allowed as an origin that the API names; add ${allowEntry(address, port)} to egress.allow_cidrs`,
    )
  }
}

/** The zone has no origin, and no rule names a host. */
export class NoOrigin extends Error {
  override readonly name = 'NoOrigin'

  constructor(zone: string) {
    super(`the zone ${zone} has no origin; set it with PATCH /zones/{id}, or name a host with an origin rule`)
  }
}
