// A receiver of webhooks for Node.js, without packages. SECRET is the signing_secret of the webhook.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'

const key = Buffer.from(process.env.SECRET.replace(/^whsec_/, ''), 'base64')
const MAX_AGE_SECONDS = 300
/** Ids of deliveries that were processed; use a table with a unique key in production. */
const seen = new Set()

function isValid(headers, body) {
  const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signatures = '' } = headers
  if (Math.abs(Date.now() / 1000 - Number(at)) > MAX_AGE_SECONDS) return false
  const wanted = createHmac('sha256', key).update(`${id}.${at}.`).update(body).digest()
  // Several signatures, with spaces between them, while a secret is being replaced.
  return signatures.split(' ').some((each) => {
    const [version, text = ''] = each.split(',')
    const given = Buffer.from(text, 'base64')
    return version === 'v1' && given.length === wanted.length && timingSafeEqual(given, wanted)
  })
}

async function receive(request, response) {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks)
  if (!isValid(request.headers, body)) return response.writeHead(401).end()
  const id = request.headers['webhook-id']
  if (!seen.has(id)) {
    seen.add(id)
    const { type, event_type, data } = JSON.parse(body)
    console.log(type ?? event_type, JSON.stringify(data))
  }
  response.writeHead(204).end()
}

const server = createServer((request, response) => {
  receive(request, response).catch(() => response.destroy())
})
server.listen(Number(process.env.PORT ?? 8000), '127.0.0.1', () => console.log(`listening on ${server.address().port}`))
