import type { Readable } from 'node:stream'
import { respondToSolution } from './challenge-endpoint.js'
import type { ClientResponse } from './client-response.js'
import type { Exchange } from '../exchange/exchange.js'
import { httpsAddress } from '../exchange/https-settings.js'
import type { RequestFields } from './request-fields.js'
import type { EarlyContext } from './proxy-context.js'

/** Methods of this server. */
export const ALLOW = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'
const ACME_PATH = '/.well-known/acme-challenge/'

/** A request whose zone is known, before its rules run. */
export interface EarlyRequest {
  readonly client: ClientResponse
  readonly exchange: Exchange
  readonly fields: RequestFields
  /** Max-Forwards ends an OPTIONS here. */
  readonly isLastHop: boolean
  readonly context: EarlyContext
  /** Begins to read the body, if there is one. */
  openBody(): Readable | null
}

/** Responds to a request that needs no rules and no origin. Returns false, and does nothing, for all others. */
type EarlyResponse = (request: EarlyRequest) => boolean

/**
 * Responses that come before the rules of the zone, in the order of the list. The first one that applies ends the
 * request.
 */
export const EARLY: readonly EarlyResponse[] = [
  certificateProof,
  misdirected,
  redirectToHttps,
  serverOptions,
  challengeSolution,
]

/** Responds to a validation of a certificate authority, ahead of all rules (RFC 8555, 8.3). */
function certificateProof({ client, exchange: { rawTarget }, context }: EarlyRequest): boolean {
  if (!rawTarget.startsWith(ACME_PATH)) return false
  const proof = context.issued?.authorization(rawTarget.slice(ACME_PATH.length))
  if (proof === undefined) return false
  const body = Buffer.from(proof)
  client.head(200, ['content-type', 'application/octet-stream', 'content-length', String(body.length)])
  client.data(body)
  client.end()
  return true
}

/**
 * Rejects a request on a connection that is less secure than its zone asks for: the connection was opened for another
 * name (RFC 9110, 15.5.20).
 */
function misdirected({ client, exchange }: EarlyRequest): boolean {
  const { tls, zone, host } = exchange
  if (!tls) return false
  const isOld = zone.https.minVersion === '1.3' && tls.version !== 'TLSv1.3'
  const isOther =
    zone.clientAuthority !== undefined && !exchange.asksForCertificate && ![undefined, host].includes(tls.serverName)
  if (!isOld && !isOther) return false
  client.page({ status: 421 })
  return true
}

/** Certificate authorities ask for this over HTTP, also the authority of an origin. */
const CHALLENGE = /^\/\.well-known\/acme-challenge\/(?!\.{1,2}(?:\?|$))[\w.~-]*(?:\?|$)/

/** Redirects to HTTPS if the zone asks for it. Clients repeat GET and HEAD at the new address (RFC 9110, 15.4.2). */
function redirectToHttps({ client, exchange, fields: { host = '' }, context }: EarlyRequest): boolean {
  const { zone, scheme, rawTarget } = exchange
  if (!zone.https.always || scheme !== 'http' || CHALLENGE.test(rawTarget)) return false
  const location = httpsAddress(host, rawTarget === '*' ? '/' : exchange.target, context.ports())
  client.head(301, ['location', location, 'content-length', '0'])
  client.end()
  return true
}

/** Responds to an OPTIONS that asks for the capabilities of this server (RFC 9110, 9.3.7) and not of an origin. */
function serverOptions({ client, exchange, isLastHop }: EarlyRequest): boolean {
  if (exchange.rawTarget !== '*' && !isLastHop) return false
  client.head(204, ['allow', ALLOW])
  client.end()
  return true
}

/** Responds to a posted solution of a challenge. */
function challengeSolution(request: EarlyRequest): boolean {
  const {
    client,
    exchange,
    context: { challenges },
  } = request
  if (!challenges?.takes(exchange)) return false
  respondToSolution(client, exchange, challenges, request.openBody())
  return true
}
