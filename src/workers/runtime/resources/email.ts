import { ResourceError, type ResourceCall, type ResourceHandler } from '../resource-server.js'

const MAX_BODY_BYTES = 5 * 1024 * 1024
const MAX_RECIPIENTS = 50
/** The envelope of a message, as JSON in a URL encoding; the body is the raw message, if there is one. */
export const MAIL_HEADER = 'x-edged-mail'

/** What a `send_email` binding allows. */
interface Allowed {
  readonly destination_address?: string
  readonly allowed_destination_addresses?: readonly string[]
  readonly allowed_sender_addresses?: readonly string[]
}

interface Address {
  readonly name?: string
  readonly email?: string
}

/** A message, with the member names of `send()`. */
interface Message {
  readonly from?: string | Address
  readonly to?: string | readonly string[]
  readonly cc?: string | readonly string[]
  readonly bcc?: string | readonly string[]
  readonly replyTo?: string | Address
  readonly subject?: string
  readonly text?: string
  readonly html?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A message to a mail server: the envelope, and the members of the message or its bytes. */
export interface Mail {
  readonly envelope: { readonly from: string; readonly to: readonly string[] }
  readonly raw?: Buffer
  readonly message?: Omit<Message, 'from' | 'replyTo'> & {
    readonly from: { readonly name: string; readonly address: string }
    readonly replyTo?: { readonly name: string; readonly address: string }
  }
}

/**
 * The `send_email` binding. The id of the resource is what the binding allows, as JSON. `send` resolves to the id of the
 * message.
 */
export function emailResource(send: (call: ResourceCall, mail: Mail) => Promise<string>): ResourceHandler {
  return async (call) => {
    const allowed = JSON.parse(call.id) as Allowed
    const given = JSON.parse(decodeURIComponent(String(call.headers[MAIL_HEADER] ?? ''))) as Message
    const raw = await call.body(MAX_BODY_BYTES)
    const mail = mailOf(given, raw)
    check(mail.envelope, allowed)
    try {
      return { status: 200, body: JSON.stringify({ messageId: await send(call, mail) }) }
    } catch (error) {
      throw new ResourceError(502, `the mail server did not accept the message: ${String((error as Error).message)}`)
    }
  }
}

function mailOf(given: Message, raw: Buffer): Mail {
  const from = addressOf(given.from)
  const to = [given.to, given.cc, given.bcc].flatMap(listOf)
  if (from.address === '' || to.length === 0) throw new ResourceError(400, 'a message needs from and to')
  if (to.length > MAX_RECIPIENTS) throw new ResourceError(400, `a message has at most ${MAX_RECIPIENTS} recipients`)
  // A line break would begin another command or field.
  const texts = [from.address, ...to, given.subject ?? '', ...Object.entries(given.headers ?? {}).flat()]
  if (texts.some((text) => /[\r\n\0]/.test(text))) throw new ResourceError(400, 'an address or field has a line break')
  const envelope = { from: from.address, to }
  if (raw.length > 0) return { envelope, raw }
  const { replyTo, from: _from, ...rest } = given
  return { envelope, message: { ...rest, from, ...(replyTo !== undefined && { replyTo: addressOf(replyTo) }) } }
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

function addressOf(value: string | Address | undefined): { name: string; address: string } {
  if (typeof value === 'string') return { name: '', address: value.trim() }
  return { name: value?.name ?? '', address: value?.email?.trim() ?? '' }
}

const listOf = (value: string | readonly string[] | undefined): readonly string[] =>
  typeof value === 'string' ? [value.trim()] : (value ?? []).map((one) => String(one).trim())
