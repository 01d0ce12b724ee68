import { ResourceError, type ResourceCall, type ResourceHandler } from '../resource-server.js'

const MAX_BODY_BYTES = 5 * 1024 * 1024
const MAX_RECIPIENTS = 50
/** The envelope of a message, as JSON in a URL encoding. The body is the raw message, if any. */
const MAIL_HEADER = 'x-edged-mail'

/** Addresses that a `send_email` binding allows. */
interface Allowed {
  readonly destination_address?: string
  readonly allowed_destination_addresses?: readonly string[]
  readonly allowed_sender_addresses?: readonly string[]
}

/** A message, with the member names of `send()`. Scripts can send values of any type. */
interface Message {
  readonly from?: unknown
  readonly to?: unknown
  readonly cc?: unknown
  readonly bcc?: unknown
  readonly replyTo?: unknown
  readonly subject?: unknown
  readonly text?: unknown
  readonly html?: unknown
  readonly headers?: unknown
}

/** An address and the name that mail programs show. */
export interface Mailbox {
  readonly name: string
  readonly address: string
}

/** A message for a mail server, with its envelope and either its members or its bytes. */
export interface Mail {
  readonly envelope: { readonly from: string; readonly to: readonly string[] }
  readonly raw?: Buffer
  readonly message?: {
    readonly from: Mailbox
    readonly replyTo?: Mailbox
    readonly to: string[]
    readonly cc: string[]
    readonly bcc: string[]
    readonly subject?: string
    readonly text?: string
    readonly html?: string
    readonly headers: Record<string, string>
  }
}

/**
 * Creates the `send_email` binding. The id of the resource holds the allowed addresses as JSON. `send` resolves to the
 * id of the message.
 */
export function emailResource(send: (call: ResourceCall, mail: Mail) => Promise<string>): ResourceHandler {
  return async (call) => {
    const allowed = JSON.parse(call.id) as Allowed
    const given = JSON.parse(decodeURIComponent(String(call.headers[MAIL_HEADER] ?? ''))) as Message
    const raw = await call.body(MAX_BODY_BYTES)
    const mail = mailOf(given, raw)
    check(mail.envelope, allowed)
    return { status: 200, body: JSON.stringify({ messageId: await send(call, mail) }) }
  }
}

function mailOf(given: Message, raw: Buffer): Mail {
  const from = mailboxOf(given.from)
  const lists = { to: listOf(given.to), cc: listOf(given.cc), bcc: listOf(given.bcc) }
  const to = Object.values(lists).flat()
  if (from.address === '' || to.length === 0) throw new ResourceError(400, 'a message needs from and to')
  if (to.length > MAX_RECIPIENTS) throw new ResourceError(400, `a message has at most ${MAX_RECIPIENTS} recipients`)
  const headers = Object.fromEntries(Object.entries(given.headers ?? {}).map(([name, value]) => [name, textOf(value)]))
  const texts = Object.fromEntries(
    (['subject', 'text', 'html'] as const).flatMap((name) =>
      given[name] == null ? [] : [[name, textOf(given[name])]],
    ),
  )
  // A line break would begin another command or field.
  const lines = [from.address, from.name, ...to, texts['subject'] ?? '', ...Object.entries(headers).flat()]
  if (lines.some((text) => /[\r\n\0]/.test(text))) throw new ResourceError(400, 'an address or field has a line break')
  const envelope = { from: from.address, to }
  if (raw.length > 0) return { envelope, raw }
  const replyTo = given.replyTo == null ? {} : { replyTo: mailboxOf(given.replyTo) }
  return { envelope, message: { from, ...lists, ...replyTo, ...texts, headers } }
}

function check({ from, to }: Mail['envelope'], allowed: Allowed): void {
  const one = allowed.destination_address
  const destinations = one === undefined ? allowed.allowed_destination_addresses : [one]
  const refused = destinations && to.find((address) => !includes(destinations, address))
  if (refused !== undefined) throw new ResourceError(403, `destination address ${refused} is not allowed`)
  const senders = allowed.allowed_sender_addresses
  if (senders && !includes(senders, from)) throw new ResourceError(403, `sender address ${from} is not allowed`)
}

const includes = (list: readonly string[], address: string): boolean =>
  list.some((one) => one.toLowerCase() === address.toLowerCase())

function mailboxOf(value: unknown): Mailbox {
  if (typeof value === 'string') return { name: '', address: value.trim() }
  const { name, email } = (value ?? {}) as { name?: unknown; email?: unknown }
  return { name: typeof name === 'string' ? name : '', address: typeof email === 'string' ? email.trim() : '' }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

const listOf = (value: unknown): string[] =>
  (Array.isArray(value) ? value : value == null ? [] : [value]).map((one) => mailboxOf(one).address).filter(Boolean)
