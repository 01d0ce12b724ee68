import { messageOf } from '../core/errors.js'
import type { Log } from '../core/log.js'
import { requestTailSource } from '../../control/logpush/request-tail.js'
import type { StreamRequest, StreamSource } from '../core/machine-streams.js'
import type { RecordPlace, RequestRecord } from '../core/model/requests/request-record.js'
import type {
  DryRun,
  KeptRequests,
  RequestCoverage,
  RequestPage,
  RequestQuery,
  RequestReader,
  TrialRule,
} from '../core/model/requests/request-reader.js'
import { zone as zoneScope } from '../core/scope.js'
import { MachineQuestions, type Answers, type MachineQuestionsDeps } from './machines/questions.js'

/** Characters of the records that one machine sends for a page. The page is shorter if it has more. */
const MAX_ANSWER_CHARS = 4 * 1024 * 1024
const MAX_SAMPLES = 20

/** A question to the request log of another machine. JSON, so a time without end is absent. */
type Question =
  | { readonly ask: 'page'; readonly query: Omit<RequestQuery, 'until'> & { readonly until?: number } }
  | { readonly ask: 'find'; readonly ray: string }
  | { readonly ask: 'kept' }
  | { readonly ask: 'dry_run'; readonly rule: TrialRule }

/** A dry run as JSON. */
type SentRun = Omit<DryRun, 'statuses' | 'agents'> & {
  readonly statuses: readonly (readonly [number, number])[]
  readonly agents: readonly (readonly [string, number])[]
}

/** The request log of all machines: each machine keeps its requests, and is asked for them. */
class AllRequests implements RequestReader {
  readonly #own: RequestReader
  readonly #others: Pick<MachineQuestions, 'ask'>

  constructor(own: RequestReader, others: Pick<MachineQuestions, 'ask'>) {
    this.#own = own
    this.#others = others
  }

  async page(zone: string, query: RequestQuery): Promise<RequestPage> {
    // First: it rejects a filter that does not fit.
    const own = await this.#own.page(zone, query)
    const { until, ...rest } = query
    const found = await this.#ask(zone, { ask: 'page', query: { ...rest, ...(until !== Infinity && { until }) } })
    return { ...joined([own, ...(found.answers as RequestPage[])], query.limit), coverage: coverageOf(found) }
  }

  async find(zone: string, ray: string): Promise<RequestRecord | undefined> {
    const own = await this.#own.find(zone, ray)
    if (own) return own
    const { answers } = await this.#ask(zone, { ask: 'find', ray })
    return (answers as { readonly found?: RequestRecord }[]).find(({ found }) => found)?.found
  }

  async kept(zone: string): Promise<KeptRequests> {
    const own = await this.#own.kept(zone)
    const found = await this.#ask(zone, { ask: 'kept' })
    const all = [own, ...(found.answers as KeptRequests[])]
    const times = all.flatMap(({ from }) => from ?? [])
    return {
      from: times.length === 0 ? undefined : Math.min(...times),
      isSampled: all.some(({ isSampled }) => isSampled),
      coverage: coverageOf(found),
    }
  }

  async dryRun(zone: string, rule: TrialRule): Promise<DryRun> {
    const own = await this.#own.dryRun(zone, rule)
    const found = await this.#ask(zone, { ask: 'dry_run', rule })
    const runs = (found.answers as SentRun[]).map((run) => ({
      ...run,
      statuses: new Map(run.statuses),
      agents: new Map(run.agents),
    }))
    return { ...added([own, ...runs]), coverage: coverageOf(found) }
  }

  /** The records of this machine: a session asks the others itself. */
  follow(zone: string, filter: string | undefined, signal: AbortSignal): AsyncIterable<readonly RequestRecord[]> {
    return this.#own.follow(zone, filter, signal)
  }

  async #ask(zone: string, question: Question): Promise<Answers> {
    return await this.#others.ask({ type: 'request_log', scope: zoneScope(zone), input: question })
  }
}

const coverageOf = ({ answers, missing }: Answers): RequestCoverage => ({ machines: answers.length + 1, missing })

/** Whether a record comes before another one, newest first. */
const isBefore = (one: RecordPlace, other: RecordPlace): boolean =>
  one.at > other.at || (one.at === other.at && one.ray > other.ray)

/** Joins pages of several machines. A page that ends early hides records after its end, so no page goes beyond it. */
function joined(pages: readonly RequestPage[], limit: number): Omit<RequestPage, 'coverage'> {
  const examined = pages.reduce((sum, page) => sum + page.examined, 0)
  const ends = pages.flatMap(({ next }) => next ?? [])
  const end = ends.reduce<RecordPlace | undefined>(
    (first, one) => (first && isBefore(first, one) ? first : one),
    undefined,
  )
  const records = pages
    .flatMap((page) => page.records)
    .filter(({ at, ray }) => !end || !isBefore(end, { at, ray }))
    .toSorted((one, other) => (isBefore(one, other) ? -1 : 1))
  if (records.length <= limit) return { records, examined, next: end }
  const { at, ray } = records[limit - 1]!
  return { records: records.slice(0, limit), examined, next: { at, ray } }
}

function added(runs: readonly DryRun[]): Omit<DryRun, 'coverage'> {
  const statuses = new Map<number, number>()
  const agents = new Map<string, number>()
  for (const run of runs) {
    for (const [status, count] of run.statuses) statuses.set(status, (statuses.get(status) ?? 0) + count)
    for (const [agent, count] of run.agents) agents.set(agent, (agents.get(agent) ?? 0) + count)
  }
  return {
    matched: runs.reduce((sum, run) => sum + run.matched, 0),
    examined: runs.reduce((sum, run) => sum + run.examined, 0),
    since: Math.max(...runs.map(({ since }) => since)),
    statuses,
    agents,
    samples: runs.flatMap(({ samples }) => samples).slice(0, MAX_SAMPLES),
  }
}

/** Connects the request log of this machine with the logs of the other machines, and returns one log of all. */
export function requestsOf(
  own: RequestReader,
  {
    sources,
    questions,
    log,
  }: {
    readonly sources: Map<StreamRequest['type'], StreamSource> | undefined
    /** Undefined without other machines. */
    readonly questions: MachineQuestionsDeps | undefined
    readonly log: Log
  },
): RequestReader {
  sources?.set('request_tail', requestTailSource(own, log))
  sources?.set('request_log', requestAnswers(own, log))
  return questions ? new AllRequests(own, new MachineQuestions(questions)) : own
}

/** Answers questions of other machines about the requests of this one. */
const requestAnswers =
  (own: RequestReader, log: Log): StreamSource =>
  async ({ scope, input }, sender) => {
    const answer = async (): Promise<void> => {
      try {
        sender.send(JSON.stringify(await answerTo(own, scope.id, input as Question)), 1)
      } catch (error) {
        log.debug({ event: 'request_question_failed', scope: scope.id, error: messageOf(error) })
        sender.end()
      }
    }
    // The other machine reads answers after the reply to its request.
    setImmediate(() => void answer())
    await Promise.resolve()
  }

async function answerTo(own: RequestReader, zone: string, question: Question): Promise<object> {
  switch (question.ask) {
    case 'page':
      return bounded(await own.page(zone, { until: Infinity, ...question.query }))
    case 'find': {
      const found = await own.find(zone, question.ray)
      return found ? { found } : {}
    }
    case 'kept':
      return await own.kept(zone)
    case 'dry_run': {
      const run = await own.dryRun(zone, question.rule)
      return { ...run, statuses: [...run.statuses], agents: [...run.agents] }
    }
  }
  throw new Error('unknown question')
}

function bounded(page: RequestPage): RequestPage {
  let chars = 0
  const length = page.records.findIndex((record) => (chars += JSON.stringify(record).length) > MAX_ANSWER_CHARS)
  if (length < 1) return page
  const { at, ray } = page.records[length - 1]!
  return { ...page, records: page.records.slice(0, length), next: { at, ray } }
}
