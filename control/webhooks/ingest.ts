import { Type, type Static } from 'typebox'
import { InvalidInput } from '../../src/core/errors.js'
import { FindingAsRead, findingFrom, FindingInput, MAX_FINDING_BYTES } from '../../src/core/model/finding.js'
import { issuesOf } from '../../src/core/schema.js'
import { bodyLines } from '../http/line-body.js'
import type { KeyedEdits } from '../resources/keyed-edits.js'
import { ACCOUNT_ONLY as scopes, endpoint, ApiResponse, type Endpoint } from '../http/endpoint.js'
import { assertNotHostile } from '../http/json-limits.js'
import { ACCESS } from '../http/auth/permissions.js'
import type { PostureDeps } from './services.js'
import { FindingWriter } from './finding-writer.js'

/** Of one request, once its compression is undone. */
const MAX_BODY_BYTES = 1024 * 1024 * 1024
/** Lines that are told of one by one. */
const MAX_REJECTED = 1000
/** Faults of one line that are told. */
const MAX_FAULTS = 5

const IngestResult = Type.Object({
  accepted: Type.Integer({ description: 'Instances that were stored, new or not.' }),
  rejected: Type.Array(
    Type.Object({ line: Type.Integer({ description: 'From 1; the element of an array.' }), message: Type.String() }),
    { description: 'Lines of which nothing was stored; the first thousand.' },
  ),
})

const issues = issuesOf(FindingInput)
const issuesAsRead = issuesOf(FindingAsRead)

/** What is wrong with one line. */
class BadLine extends Error {
  override readonly name = 'BadLine'
}

/** Takes findings from whatever finds them. `edits`: shared by all that changes instances. */
export function ingest(deps: PostureDeps, edits: KeyedEdits): Endpoint[] {
  return [
    endpoint({
      method: 'post',
      path: '/edged/findings',
      scopes,
      permissions: ACCESS.webhooks.write,
      summary:
        'Take posture findings with their instances; durable when answered. What is sent again is updated, so that a ' +
        'request that failed midway can be repeated. Policies send what is new',
      status: 202,
      raw: {
        types: ['application/x-ndjson', 'application/json'],
        schema: Type.Union([FindingInput, FindingAsRead]),
      },
      result: IngestResult,
      async handle({ scope, request }) {
        const intake = new FindingWriter(deps, edits, scope)
        const rejected: { line: number; message: string }[] = []
        let more = 0
        for await (const { line, bytes } of bodyLines(request, { bodyBytes: MAX_BODY_BYTES })) {
          try {
            await take(intake, bytes)
          } catch (error) {
            if (!(error instanceof BadLine)) throw error
            if (rejected.length < MAX_REJECTED) rejected.push({ line, message: error.message })
            else more += 1
          }
        }
        await intake.flush()
        const messages = more > 0 ? [{ code: 10000, message: `${more} more lines were rejected` }] : []
        return new ApiResponse({ accepted: intake.accepted, rejected }, { messages })
      },
    }),
  ]
}

/** Takes the finding of one line, as a whole or not at all. */
async function take(intake: FindingWriter, bytes: Uint8Array | undefined): Promise<void> {
  if (!bytes) throw new BadLine('is too long')
  const input = checked(parsed(bytes))
  const { instances, ...finding } = input
  const findingBytes = size(finding)
  if (findingBytes > MAX_FINDING_BYTES) throw new BadLine(`has a finding of more than ${MAX_FINDING_BYTES} bytes`)
  const seen = new Set<string>()
  const sized = instances.map((instance, index) => {
    const own = size(instance)
    const fault =
      (own > MAX_FINDING_BYTES ? `has more than ${MAX_FINDING_BYTES} bytes` : undefined) ??
      (seen.has(instance.id) ? 'is given twice' : undefined) ??
      intake.fault(finding.id, instance)
    if (fault !== undefined) throw new BadLine(`/instances/${index} ${fault}`)
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
    const toApiErrors = error.issues.slice(0, MAX_FAULTS).map(({ pointer, message }) => `${pointer || '/'} ${message}`)
    throw new BadLine(toApiErrors.join('; '), { cause: error })
  }
}

const size = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))
