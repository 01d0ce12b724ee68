import t from 'tap'
import { silentLog } from '../../src/core/log.js'
import { account } from '../../src/core/scope.js'
import { openMailer } from '../../src/daemon/workers/mail.js'
import type { ResourceCall } from '../../src/workers/runtime/resource-server.js'
import { smtpServer } from '../helpers/smtp-server.js'
import { SKIP, workersDaemon } from './runtime-helper.js'

const skip = { skip: SKIP }

t.test('a script sends e-mail, to allowed addresses only', skip, async (t) => {
  const server = await smtpServer(t)
  const daemon = await workersDaemon(t, {
    more: `workers: { email: "smtp://127.0.0.1:${server.port}?tls.rejectUnauthorized=false&socketTimeout=500" }`,
  })
  await daemon.upload(
    'app',
    `import { EmailMessage } from 'cloudflare:email'
    export default { async fetch(request, env) {
      const { binding, raw, ...message } = await request.json()
      try {
        const { messageId } = await env[binding].send(raw ? new EmailMessage(message.from, message.to, raw) : message)
        return Response.json(messageId)
      } catch (error) { return Response.json('ERROR ' + error.message) }
    } }`,
    {
      bindings: [
        { name: 'ANY', type: 'send_email' },
        { name: 'ONE', type: 'send_email', destination_address: 'ops@example.com' },
        { name: 'SENDER', type: 'send_email', allowed_sender_addresses: ['me@example.com'] },
      ],
    },
  )
  await daemon.domain('app')
  const send = async (message: object) => {
    const { text } = await daemon.get('app.example.test', '/', { method: 'POST', body: JSON.stringify(message) })
    return JSON.parse(text) as string
  }
  const mail = { binding: 'ANY', from: 'me@example.com', to: 'you@example.com', subject: 'Hi', text: 'Hello there' }
  t.match(await send(mail), /^<.*>$/)
  t.ok(server.lines.includes('Subject: Hi') && server.lines.includes('Hello there'))
  t.ok(server.lines.some((line) => /^RCPT TO:<you@example.com>/i.test(line)))
  t.match(await send({ ...mail, raw: 'Subject: Raw\r\n\r\nraw text\r\n' }), /^<.*>$/)
  t.ok(server.lines.includes('Subject: Raw') && server.lines.includes('raw text'))
  t.match(await send({ ...mail, binding: 'ONE' }), 'ERROR destination address you@example.com is not allowed')
  t.match(await send({ ...mail, binding: 'ONE', to: 'OPS@example.com' }), /^</)
  t.match(await send({ ...mail, binding: 'SENDER', from: 'you@example.com' }), 'ERROR sender address you@example.com')
  t.match(await send({ ...mail, to: 'a@example.com\r\nDATA' }), /ERROR .*line break/)
  t.match(await send({ ...mail, attachments: [{ path: '/etc/passwd' }], html: { path: '/etc/passwd' } }), /^</)
  t.notOk(
    server.lines.some((line) => line.includes('root:')),
    'no file of the server is read',
  )
  t.ok(server.encrypted.includes('Hi'), 'TLS is used if the server offers it')
  t.match(
    await send({ ...mail, to: 'no@example.com' }),
    /^ERROR the mail server rejected the message: 550 5.1.1 no such/,
  )
  t.match(await send({ ...mail, to: ['you@example.com', 'no@example.com'] }), /^ERROR .* rejected no@example.com; the/)
  t.match(await send({ ...mail, text: 'spam' }), /^ERROR the mail server rejected the message: 554 5.7.1 no spam here/)
  t.match(await send({ ...mail, to: 'slow@example.com' }), /^ERROR the mail server is not available$/)
  t.match(await send(mail), /^</, 'the server is used again')
})

t.test('messages of one account that wait for a slow server are limited', async (t) => {
  const server = await smtpServer(t)
  const mailer = openMailer(`smtp://127.0.0.1:${server.port}?tls.rejectUnauthorized=false&socketTimeout=300`, silentLog)
  t.teardown(() => mailer.close())
  const send = async (id: string, to: string) => {
    const call = { scope: account(id), script: 'app' } as ResourceCall
    return await mailer.send(call, { envelope: { from: 'me@example.com', to: [to] }, raw: Buffer.from('x') })
  }
  const all = await Promise.allSettled(Array.from({ length: 25 }, async () => await send('a', 'slow@example.com')))
  const failed = (text: string) => all.filter((one) => one.status === 'rejected' && String(one.reason).includes(text))
  t.equal(failed('is not available').length, 20)
  t.equal(failed('send later').length, 5)
  t.match(await send('a', 'you@example.com'), /^</)
  t.match(await send('b', 'you@example.com'), /^</)
  await t.rejects(send('c', '<>'), { message: /^an address is not valid/ })
})
