import type { Readable } from 'node:stream'
import type { ClientResponse } from './client-response.js'
import type { Exchange } from '../exchange/exchange.js'
import type { Challenges } from '../challenge/challenges.js'

/** More than any solution has: a path of 8 KiB in which every character is escaped. */
const MAX_BYTES = 32 * 1024

/**
 * Responds to a posted solution: the cookie and the redirect (303), or 403 if the task is not ours, not solved, expired
 * or already used.
 */
export function respondToSolution(
  client: ClientResponse,
  exchange: Exchange,
  challenges: Pick<Challenges, 'solved'>,
  body: Readable | null,
): void {
  readForm(body, (form) => {
    if (form === undefined) {
      client.page({ status: 413 })
      return
    }
    const [ticket, nonce, to] = [form.get('ticket') ?? '', form.get('nonce') ?? '', form.get('to') ?? '']
    const headers = challenges.solved(exchange, { ticket, nonce, to })
    if (headers === undefined) {
      const detail = 'This check was not passed, took too long or was used before. Open the page again.'
      client.page({ status: 403, detail, headers: { 'cf-mitigated': 'challenge' } })
      return
    }
    client.head(303, [...Object.entries(headers).flat(), 'content-length', '0'])
    client.end()
  })
}

/** Reads a body of `application/x-www-form-urlencoded`, or undefined if it is too long to be a solution. */
function readForm(body: Readable | null, done: (form: URLSearchParams | undefined) => void): void {
  if (body === null) {
    done(new URLSearchParams())
    return
  }
  const chunks: Buffer[] = []
  let size = 0
  body.on('data', (chunk: Buffer) => {
    if (size > MAX_BYTES) return
    size += chunk.length
    if (size <= MAX_BYTES) chunks.push(chunk)
    else done(undefined)
  })
  body.on('end', () => {
    if (size <= MAX_BYTES) done(new URLSearchParams(Buffer.concat(chunks).toString('latin1')))
  })
}
