import { Type, type Static } from 'typebox'
import { InvalidInput } from '../../src/core/errors.js'
import { assertInvalid, IntakeLimit, withStored } from '../../src/core/schedule/intake-limits.js'
import type { Pause } from '../../src/core/schedule/event-loop-yield.js'
import { FindingAsRead, findingFrom, FindingInput, MAX_FINDING_BYTES } from '../../src/core/model/finding.js'
import { issuesOf } from '../../src/core/schema.js'
import { ApiError } from '../http/errors.js'
import { IngestRequests } from '../http/ingest-requests.js'
import { bodyLines } from '../http/line-body.js'
import { area } from '../http/area.js'
import { ACCOUNT_ONLY as scopes, ApiResponse } from '../http/endpoint.js'
import { assertNotHostile } from '../http/json-limits.js'
import { ACCESS } from '../http/permissions.js'
import type { PostureDeps } from './services.js'
import type { FindingBatches } from './finding-batches.js'
import { FindingWriter } from './finding-writer.js'

/** Each request buffers a part of up to 4 MiB. */
const LIMITS = { total: 256, perAccount: 192 }
/** Maximum number of rejected lines that a response lists. */
const MAX_REJECTED = 1000
/** Maximum number of issues that a response lists per line. */
const MAX_FAULTS = 5

const IngestResult = Type.Object({
  accepted: Type.Integer({ description: 'Stored instances, new or updated.' }),
  rejected: Type.Array(
    Type.Object({
      line: Type.Integer({ description: 'Line, or element of an array, from 1.' }),
      message: Type.String(),
    }),
    { description: 'Lines of which nothing was stored; at most 1000.' },
  ),
})

const issues = issuesOf(FindingInput)
const issuesAsRead = issuesOf(FindingAsRead)

/** Error of one line. */
class BadLine extends Error {
  override readonly name = 'BadLine'
}

const rows = area({ scopes, access: ACCESS.webhooks }, (deps: PostureDeps, batches: FindingBatches) => {
  const requests = new IngestRequests('findingsBusy', LIMITS)
  return { deps, batches, requests }
})

/** Endpoint that ingests findings. */
export const ingest = rows.endpoints([
  rows.post('/edged/findings', {
    summary:
      'Ingest posture findings with their instances. Everything accepted is durable; known ids are updated, so that a ' +
      'request that failed midway can be repeated. Policies send new instances',
    status: 202,
    raw: {
      types: ['application/x-ndjson', 'application/json'],
      schema: Type.Union([FindingInput, FindingAsRead]),
    },
    result: IngestResult,
    async handle({ deps, batches, requests }, { scope, request }) {
      const intake = new FindingWriter(deps, batches, scope)
      const rejected = new Rejected()
      let through = 0
      const read = async (pause: Pause) => {
        for await (const { line, bytes } of bodyLines(request, { pause })) {
          through = line
          try {
            await take(intake, bytes)
          } catch (error) {
            if (!(error instanceof BadLine)) throw error
            rejected.add(line, error.message)
          }
        }
      }
      try {
        await requests.run(scope.id, read)
      } catch (error) {
        if (!(error instanceof IntakeLimit)) throw error
        await intake.flush()
        throw new ApiError(error.limit === 'invalid' ? 'invalid' : 'tooLarge', undefined, {
          message: withStored(error.message, through, 'findings'),
          meta: { accepted: intake.accepted, rejected: rejected.listed },
        })
      }
      await intake.flush()
      const { listed, more } = rejected
      const messages = more > 0 ? [{ code: 10000, message: `${more} more lines were rejected` }] : []
      return new ApiResponse({ accepted: intake.accepted, rejected: listed }, { messages })
    },
  }),
])

/** Lines of a request that were rejected. */
class Rejected {
  readonly listed: { line: number; message: string }[] = []
  /** Number of lines that are not listed. */
  more = 0

  /** Throws IntakeLimit if there are too many. */
  add(line: number, message: string): void {
    if (this.listed.length < MAX_REJECTED) this.listed.push({ line, message })
    else this.more++
    assertInvalid(this.listed.length + this.more)
  }
}

/** Ingests the finding of one line completely or throws. */
async function take(intake: FindingWriter, bytes: Uint8Array | undefined): Promise<void> {
  if (!bytes) throw new BadLine('is too long')
  const input = checked(parsed(bytes))
  const { instances, ...finding } = input
  const findingBytes = size(finding)
  if (findingBytes > MAX_FINDING_BYTES) throw new BadLine(`has a finding of more than ${MAX_FINDING_BYTES} bytes`)
  const seen = new Set<string>()
  const sized = instances.map((instance, index) => {
    const own = size(instance)
    const issue =
      (own > MAX_FINDING_BYTES ? `has more than ${MAX_FINDING_BYTES} bytes` : undefined) ??
      (seen.has(instance.id) ? 'is a duplicate' : undefined) ??
      intake.issue(finding.id, instance)
    if (issue !== undefined) throw new BadLine(`/instances/${index} ${issue}`)
    seen.add(instance.id)
    return { input: instance, bytes: own }
  })
  await intake.add(finding, sized, findingBytes)
}

const decoder = new TextDecoder('utf-8', { fatal: true })

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(bytes))
  } catch (error) {
    // The parser's own message quotes the line.
    throw new BadLine(error instanceof SyntaxError ? 'is not JSON' : 'is not UTF-8', { cause: error })
  }
}

function checked(value: unknown): FindingInput {
  try {
    assertNotHostile(value)
    const isAsRead = typeof value === 'object' && value !== null && 'finding' in value
    const found = isAsRead ? issuesAsRead(value) : issues(value)
    if (found.length > 0) throw new InvalidInput(found)
    return findingFrom(value as Static<typeof FindingInput> | Static<typeof FindingAsRead>)
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error
    const messages = error.issues.slice(0, MAX_FAULTS).map(({ pointer, message }) => `${pointer || '/'} ${message}`)
    throw new BadLine(messages.join('; '), { cause: error })
  }
}

const size = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))
