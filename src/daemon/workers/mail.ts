import { createTransport } from 'nodemailer'
import { messageOf } from '../../core/errors.js'
import type { Log } from '../../core/log.js'
import { newUuid } from '../../core/ids.js'
import { ResourceError, type ResourceCall } from '../../workers/runtime/resource-server.js'
import type { Mail } from '../../workers/runtime/resources/email.js'

const MAX_CONNECTIONS = 5
const TIMEOUT_MS = 30_000
/** Messages of one account that wait for the server, or are being sent. */
const MAX_IN_PROGRESS = 20
const MAX_REASON_CHARACTERS = 300

/** Sends messages of Workers. */
export interface Mailer {
  /** Resolves to the id of the message after the server accepted it. Throws a ResourceError if it did not. */
  send(call: ResourceCall, mail: Mail): Promise<string>
  close(): void
}

/** The members that the mail library adds to its errors. */
interface MailFailure {
  /** The response of the server. */
  readonly response?: string
  /** EENVELOPE and EMESSAGE: the addresses or the message were rejected, by the server if there is a response. */
  readonly code?: string
}

/** Sends to the server of an `smtp://` or `smtps://` URL. Without one, messages are written to the log and not sent. */
export function openMailer(url: string | null, log: Log): Mailer {
  const transport =
    url === null
      ? undefined
      : createTransport({
          url,
          pool: true,
          maxConnections: MAX_CONNECTIONS,
          connectionTimeout: TIMEOUT_MS,
          greetingTimeout: TIMEOUT_MS,
          socketTimeout: TIMEOUT_MS,
          // A message must not name files of the server.
          disableFileAccess: true,
          disableUrlAccess: true,
        })
  const inProgress = new Map<string, number>()
  const send = async ({ scope, script }: ResourceCall, { envelope, raw, message }: Mail): Promise<string> => {
    const to = [...envelope.to]
    const about = { account: scope.id, script, from: envelope.from, to }
    const id = `<${newUuid()}@edged>`
    if (!transport) {
      log.info({ event: 'worker_mail_not_sent', ...about, message_id: id })
      return id
    }
    const content = raw ? { raw } : { ...message, messageId: id }
    const sent = await transport
      .sendMail({ ...content, envelope: { from: envelope.from, to } })
      .catch((error: unknown) => {
        log.warn({ event: 'worker_mail_failed', ...about, error: messageOf(error) })
        throw failure(error)
      })
    const rejected = sent.rejected.map(String)
    log.info({
      event: 'worker_mail_sent',
      ...about,
      message_id: sent.messageId,
      ...(rejected.length > 0 && { rejected }),
    })
    if (rejected.length > 0)
      throw new ResourceError(502, `the mail server rejected ${rejected.join(', ')}; the others get the message`)
    return sent.messageId
  }
  return {
    async send(call, mail) {
      const { id } = call.scope
      const count = inProgress.get(id) ?? 0
      if (count >= MAX_IN_PROGRESS)
        throw new ResourceError(503, `${MAX_IN_PROGRESS} messages of this account are being sent; send later`)
      inProgress.set(id, count + 1)
      try {
        return await send(call, mail)
      } finally {
        const left = (inProgress.get(id) ?? 1) - 1
        if (left > 0) inProgress.set(id, left)
        else inProgress.delete(id)
      }
    },
    close() {
      transport?.close()
    },
  }
}

/**
 * Returns the error for a script. It has the response of the server to the message, and nothing about connections to
 * the server.
 */
function failure(error: unknown): ResourceError {
  const { response, code } = error as MailFailure
  if (code !== 'EENVELOPE' && code !== 'EMESSAGE') return new ResourceError(503, 'the mail server is not available')
  return response === undefined
    ? new ResourceError(400, 'an address is not valid, or the message is larger than the mail server accepts')
    : new ResourceError(502, `the mail server rejected the message: ${response.slice(0, MAX_REASON_CHARACTERS)}`)
}
