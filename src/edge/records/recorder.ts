import type { Clock } from '../../core/clock.js'
import type { Emitter } from '../../core/emit.js'
import { messageOf } from '../../core/errors.js'
import type { Log } from '../../core/log.js'
import { account, zone } from '../../core/scope.js'
import type { Exchange } from '../exchange/exchange.js'
import type { Geo } from '../exchange/geo.js'
import { requestSummary } from './request-summary.js'
import { firewallEvents } from './firewall-events.js'
import { httpRequest } from './http-requests.js'
import { securityMatches } from './security.js'
import { requestIds } from '../exchange/request-ids.js'

export interface RecorderParts {
  readonly emitter: Emitter
  readonly geo: Geo
  readonly clock: Clock
  readonly log: Log
}

/** What records say of a client's connection. */
export interface ClientBytes {
  /** Bytes of the request, without chunk framing. */
  readonly receivedBytes: number
}

/** Creates the log records of finished requests, if they are wanted. Never throws. */
export class Recorder {
  readonly #parts: RecorderParts

  constructor(parts: RecorderParts) {
    this.#parts = parts
  }

  /** Must be called once per request, before its connection reads the next one. */
  finished(exchange: Exchange, connection: ClientBytes): void {
    try {
      this.#record(exchange, connection)
    } catch (error) {
      this.#parts.log.error({ event: 'record_failed', ...requestIds(exchange), reason: messageOf(error) })
    }
  }

  #record(exchange: Exchange, connection: ClientBytes): void {
    const { emitter, geo, clock } = this.#parts
    const ofZone = zone(exchange.zone.id)
    const wanted = emitter.wants('http_requests', ofZone)
    const matches = exchange.matches.length > 0 ? securityMatches(exchange.matches) : NONE
    const eventScopes =
      matches.length > 0
        ? [ofZone, account(exchange.zone.accountId)].filter((scope) => emitter.wants('firewall_events', scope))
        : NONE
    if (!wanted && eventScopes.length === 0) return
    const facts = requestSummary(exchange, geo.find(exchange.clientAddress))
    if (wanted) {
      const passage = {
        received: connection.receivedBytes,
        port: exchange.clientPort,
        endedMonotonic: clock.monotonic(),
      }
      emitter.emit('http_requests', ofZone, httpRequest(exchange, facts, matches, passage))
    }
    if (eventScopes.length === 0) return
    const events = firewallEvents(exchange, facts, matches)
    for (const scope of eventScopes) for (const event of events) emitter.emit('firewall_events', scope, event)
  }
}

const NONE: readonly never[] = []
