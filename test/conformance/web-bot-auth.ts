import { readFileSync } from 'node:fs'
import { KeyDirectories, type DirectoryAnswer } from '../../src/agents/signatures/directories.js'
import { verifyRequest } from '../../src/agents/signatures/verify.js'
import { silentLog } from '../../src/core/log.js'
import { systemClock } from '../../src/core/clock.js'
import type { Case, Suite } from './suite.js'

interface Served {
  readonly status: number
  readonly type: string
  readonly keys?: readonly unknown[]
  readonly body?: string
  readonly also?: Readonly<Record<string, Served>>
}

interface Document {
  readonly now: number
  readonly directories: Readonly<Record<string, Served>>
  readonly cases: readonly {
    readonly id: string
    readonly about?: string
    readonly request: {
      readonly method: string
      readonly scheme: 'http' | 'https'
      readonly authority: string
      readonly target: string
      readonly headers: readonly (readonly [string, string])[]
    }
    readonly expect: {
      readonly outcome: string | readonly string[]
      readonly reason?: string
      readonly identifiers?: readonly string[]
    }
  }[]
}

const PATH = '/.well-known/http-message-signatures-directory'

/** Returns what a directory of the file responds with. */
function answerOf({ directories }: Document, { origin, pathname }: URL): DirectoryAnswer {
  const site = directories[origin]
  const served = pathname === PATH ? site : site?.also?.[pathname]
  if (served === undefined) throw new Error(`nothing is at ${origin}${pathname}`)
  const bytes = Buffer.from(served.body ?? JSON.stringify({ keys: served.keys }))
  return { status: served.status, type: served.type, headers: {}, bytes }
}

function* casesOf(document: Document): Generator<Case> {
  const clock = { ...systemClock, now: () => document.now * 1000, monotonic: () => 1 }
  for (const { id, about, request, expect } of document.cases) {
    const message = { ...request, fields: request.headers.flat() }
    const outcomes = [expect.outcome].flat()
    yield {
      name: about === undefined ? id : `${id}: ${about}`,
      expected: { outcome: outcomes, reason: expect.reason, identifiers: expect.identifiers ?? [] },
      async got() {
        const directories = new KeyDirectories({
          fetch: async (url) => answerOf(document, url),
          clock,
          log: silentLog,
        })
        const deps = {
          key: (...args: [Parameters<KeyDirectories['key']>[0], string]) =>
            directories.key(...args, { share: 'client', isKnown: false }),
          mayVerify: () => true,
          verdicts: new Map(),
        }
        // The first request of a signer asks for its keys.
        verifyRequest(message, document.now, deps)
        await directories.settled()
        const { outcome, reason, verified } = verifyRequest(message, document.now, deps)
        return {
          outcome: outcomes.includes(outcome) ? outcomes : [outcome],
          reason: expect.reason === undefined ? undefined : reason,
          identifiers: verified.map(({ agent }) => agent.url),
        }
      },
    }
  }
}

/** The requests of `web-bot-auth-cases.json`, each with what a verifier finds. */
export const webBotAuth: Suite = {
  name: 'web-bot-auth',
  fixture: 'web-bot-auth-cases.json',
  cases: (path) => casesOf(JSON.parse(readFileSync(path, 'utf8')) as Document),
}
