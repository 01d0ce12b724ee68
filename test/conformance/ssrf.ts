import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import got from 'got'
import { InvalidInput } from '../../src/core/errors.js'
import { NotPublic } from '../../src/egress/egress.js'
import { hostOf, portOf, publicUrl } from '../../src/egress/public-url.js'
import { testEgress } from '../helpers/egress.js'
import { recordDialled } from './dialled.js'
import type { Case, Suite } from './suite.js'

interface Document {
  cases: { url: string; dns?: string[][]; expect: 'accept' | 'reject'; why: string }[]
}

interface Verdict {
  verdict: 'accept' | 'reject'
  /** Addresses that a connection was tried to. */
  dialled: readonly string[]
}

/** Creates with a destination and then sends to it, as webhooks do: every lookup takes the next answers of the resolver. */
async function judge(text: string, dns: readonly string[][]): Promise<Verdict> {
  let asked = 0
  const resolve = async () => dns[Math.min(asked++, dns.length - 1)] ?? []
  const egress = await testEgress({}, { resolve })
  const agents = egress.agents()
  const recorder = recordDialled()
  try {
    const url = publicUrl(text)
    await egress.check(hostOf(url), portOf(url))
    const agent = { http: agents.http, https: agents.https }
    await got.post(url, { agent, followRedirect: false, retry: { limit: 0 }, body: 'x' })
    throw new Error('a connection was made')
  } catch (error) {
    // Any other error, such as one of the URL parser of the client, fails the case.
    if (isOurs(error)) return { verdict: 'reject', dialled: recorder.addresses }
    if (recorder.addresses.length === 0 || !isConnectionRefused(error)) throw error
    return { verdict: 'accept', dialled: recorder.addresses }
  } finally {
    recorder.restore()
    agents.destroy()
  }
}

/** Whether the product itself refused the destination: by its form, or by its addresses. */
function isOurs(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof NotPublic || cause instanceof InvalidInput) return true
  return false
}

/** The recorder of connections refuses all of them. */
const isConnectionRefused = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ECONNREFUSED'

function* casesOf({ cases }: Document): Generator<Case> {
  for (const { url, dns = [], expect, why } of cases) {
    // What is refused is never dialled, not even a public address among others.
    const addresses = dns[0] ?? literal(url)
    const expected: Verdict = { verdict: expect, dialled: expect === 'accept' ? addresses : [] }
    yield { name: `${why}: ${url}`, expected, got: async () => await judge(url, dns) }
  }
}

function literal(url: string): string[] {
  const host = URL.canParse(url) ? hostOf(new URL(url)) : ''
  return isIP(host) > 0 ? [host] : []
}

/** Hostile and friendly destinations with the verdict, and what would have been dialled. */
export const ssrf: Suite = {
  name: 'ssrf',
  fixture: 'ssrf-cases.json',
  cases: (file) => casesOf(JSON.parse(readFileSync(file, 'utf8')) as Document),
}
