import { createTransport } from 'nodemailer'
import type { Log } from '../core/log.js'
import type { ResourceCall } from '../workers/runtime/resource-server.js'
import type { Mail } from '../workers/runtime/resources/email.js'
import { newUuid } from '../core/ids.js'

const MAX_CONNECTIONS = 5
const TIMEOUT_MS = 30_000

/** Sends messages of Workers. */
export interface Mailer {
  send(call: ResourceCall, mail: Mail): Promise<string>
  close(): void
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
          socketTimeout: TIMEOUT_MS,
          // A message must not name files of the server.
          disableFileAccess: true,
          disableUrlAccess: true,
        })
  return {
    async send({ scope, script }, { envelope, raw, message }) {
      const to = [...envelope.to]
      let id = `<${newUuid()}@edged>`
      if (transport) {
        const content = raw ? { raw } : { ...message, messageId: id }
        const sent = await transport.sendMail({ ...content, envelope: { from: envelope.from, to } })
        id = sent.messageId
      }
      const event = transport ? 'worker_mail_sent' : 'worker_mail_not_sent'
      log.info({ event, account: scope.id, script, from: envelope.from, to, message_id: id })
      return id
    },
    close() {
      transport?.close()
    },
  }
}
