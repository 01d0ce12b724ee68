import { trimmed } from '../../core/bytes.js'
import { UNSAFE_VALUE } from '../../http/framing-fields.js'
import type { RawHeaders } from '../../http/headers.js'
import { checkRequestLine } from '../../http/request-text.js'
import type { HttpVersion } from '../../rules/types.js'
import type { RequestHead } from '../client/framing.js'
import { workerLines } from '../workers/worker-fields.js'
import type { NameTest, UnreadFields } from '../exchange/unread/unread-fields.js'
import type { RequestFields } from './request-fields.js'

/** Name of this proxy in `via`. */
export const VIA_NAME = 'edged'

const VIA = { '1.0': `1.0 ${VIA_NAME}`, '1.1': `1.1 ${VIA_NAME}`, '2': `2 ${VIA_NAME}` }

/** Returns this hop in `via`, by the version of the request. */
export const viaOf = (version: HttpVersion): string => VIA[version]

/** Values of the fields that the proxy itself sets in requests to origins. */
interface OwnFields {
  readonly host: string
  readonly scheme: string
  readonly forwardedFor: string
  readonly via: string
  readonly rayId: string
  readonly clientAddress: string
}

/** Adds the fields that the proxy itself sets. */
export function pushOwnFields(fields: string[], own: OwnFields): void {
  fields.push('host', own.host, 'x-forwarded-for', own.forwardedFor, 'x-forwarded-proto', own.scheme)
  fields.push('x-forwarded-host', own.host, 'via', own.via, 'cf-ray', own.rayId, 'cf-connecting-ip', own.clientAddress)
}

/** Whether the fields of a request can be forwarded as their text, with the lines of {@link ArrivedFields} behind it. */
export const mayStayUnread = (method: string, { keptLines, hasLength, via, forwardedFor }: RequestFields): boolean =>
  keptLines !== undefined &&
  !hasLength &&
  via === undefined &&
  forwardedFor === undefined &&
  (method === 'GET' || method === 'HEAD')

/** What the proxy's own fields say about a request. */
interface Own {
  readonly host: string
  readonly scheme: string
  /** Address of the client. */
  readonly address: string
  readonly rayId: string
}

/** The fields of a request without a body that nobody forwarded, in the form in which they arrived. */
export class ArrivedFields implements UnreadFields {
  readonly #request: RequestHead
  readonly #fields: RequestFields
  readonly #own: Own

  constructor(request: RequestHead, fields: RequestFields, own: Own) {
    this.#request = request
    this.#fields = fields
    this.#own = own
  }

  get accept(): string | undefined {
    return this.#fields.accept
  }

  get lines(): string {
    return this.#fields.keptLines!
  }

  get host(): string {
    return this.#own.host
  }

  some(test: NameTest): boolean {
    const { text, marks, first, end } = this.#request.lines!
    for (let i = first; i + 2 < end; i += 3) if (test(text, marks[i]!, marks[i + 1]!)) return true
    return false
  }

  find(name: string): string | undefined {
    const { text, marks, first, end } = this.#request.lines!
    for (let i = first; i + 2 < end; i += 3) {
      const begin = marks[i]!
      const nameEnd = marks[i + 1]!
      if (nameEnd - begin === name.length && text.slice(begin, nameEnd).toLowerCase() === name)
        return trimmed(text, nameEnd + 1, marks[i + 2]!)
    }
    return undefined
  }

  received(): RawHeaders {
    return this.#request.rawHeaders
  }

  forOrigin(): string[] {
    const { host, scheme, rayId, address } = this.#own
    const { kept } = this.#fields
    const via = viaOf(this.#request.httpVersion)
    pushOwnFields(kept, { host, scheme, rayId, forwardedFor: address, via, clientAddress: address })
    return kept
  }

  text(method: string, target: string, cf?: string): string {
    checkRequestLine(method, target)
    const lines = linesOf(this.#own, this.#request.httpVersion)
    const end = cf === undefined ? lines.end : endForWorker(lines, cf)
    return `${method} ${target}${lines.begin}${this.lines}${lines.middle}${this.#own.rayId}${end}`
  }
}

/** The lines of the proxy's own fields that requests of one client to one host share. */
interface Lines {
  readonly address: string
  readonly host: string
  readonly scheme: string
  readonly version: HttpVersion
  /** From the version up to Host, which comes first (RFC 9110, 7.2). */
  readonly begin: string
  /** Up to the ray. */
  readonly middle: string
  readonly end: string
  /** The end for a Worker, and `request.cf` in it. */
  workerEnd: string
  workerCf: string | undefined
}

/** Slots of the table of lines. Lines replace those of another client. */
const SLOTS = 1024
/** Longer hosts are not retained. */
const MAX_HOST = 255
const slots: (Lines | undefined)[] = Array.from({ length: SLOTS }, () => undefined)

function linesOf({ address, host, scheme }: Own, version: HttpVersion): Lines {
  const last = address.length - 1
  const place = address.charCodeAt(last) * 31 + address.charCodeAt(last - 1) * 7 + address.charCodeAt(last - 2)
  // Zero for the address of a unix socket, which is empty.
  const slot = ((place || 0) + host.length) % SLOTS
  const known = slots[slot]
  if (
    known !== undefined &&
    known.address === address &&
    known.host === host &&
    known.scheme === scheme &&
    known.version === version
  )
    return known
  const lines = newLines(flat(address), flat(host), scheme, version)
  if (host.length <= MAX_HOST) slots[slot] = lines
  return lines
}

function newLines(address: string, host: string, scheme: string, version: HttpVersion): Lines {
  if (UNSAFE_VALUE.test(address) || UNSAFE_VALUE.test(host)) throw new TypeError('an address or a host is not safe')
  const forwarded = `\r\nx-forwarded-for: ${address}\r\nx-forwarded-proto: ${scheme}\r\nx-forwarded-host: ${host}`
  return {
    address,
    host,
    scheme,
    version,
    begin: flat(` HTTP/1.1\r\nhost: ${host}`),
    middle: flat(`${forwarded}\r\nvia: ${viaOf(version)}\r\ncf-ray: `),
    end: flat(`\r\ncf-connecting-ip: ${address}\r\nconnection: keep-alive\r\n\r\n`),
    workerEnd: '',
    workerCf: undefined,
  }
}

/** Returns the lines behind the ray of the request for a Worker. */
function endForWorker(lines: Lines, cf: string): string {
  if (lines.workerCf !== cf) {
    const { address, scheme } = lines
    lines.workerEnd = flat(`\r\ncf-connecting-ip: ${address}${workerLines({ address, scheme, hops: 1, cf })}\r\n\r\n`)
    lines.workerCf = cf
  }
  return lines.workerEnd
}

/** Returns a text in one piece, which does not keep the head alive that it was cut out of. */
const flat = (text: string): string => Buffer.from(text, 'latin1').toString('latin1')
