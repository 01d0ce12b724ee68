import { useQueries } from '@tanstack/react-query'
import { messageOf, sendWhole, statusOf } from '../../api/client.ts'
import type { Read } from '../../api/queries.ts'
import { usePlace, useZones } from '../../place.tsx'

export interface Batch {
  readonly at: string
  readonly records: number
  readonly bytes: number
  readonly ms: number
  readonly status: 'delivered' | 'failed' | 'set_aside'
  readonly error: string | null
}

/** A log job, as the API returns it. */
export interface Job {
  readonly id: number
  readonly name?: string | null
  readonly dataset: string
  readonly enabled: boolean
  /** With secrets if the token may change jobs. */
  readonly destination_conf?: string
  readonly filter?: string | null
  readonly output_options?: Readonly<Record<string, unknown>> | null
  readonly max_upload_bytes?: number | null
  readonly max_upload_interval_seconds?: number | null
  readonly max_upload_records?: number | null
  readonly edged_in_flight?: number | null
  readonly last_complete: string | null
  readonly last_error: string | null
  readonly error_message: string | null
  readonly edged: {
    readonly state: 'running' | 'failing' | 'waiting' | 'off'
    readonly failing_since: string | null
    readonly lag_records: number
    readonly lag_seconds: number
    readonly batches: readonly Batch[]
    readonly dead_letters: number
  }
}

/** The account or zone that a job belongs to. */
export interface Owner {
  readonly type: 'account' | 'zone'
  readonly name: string
  /** Beginning of its paths of the API. */
  readonly path: string
}

export interface OwnedJob extends Job {
  readonly owner: Owner
}

export const nameOf = ({ name, id }: Job): string => (name ? name : `Job ${id}`)

/** The account and its zones, which jobs belong to. */
export function useOwners(): readonly Owner[] {
  const { account, ofAccount } = usePlace()
  const zones = useZones().value ?? []
  return [
    { type: 'account', name: account.name, path: ofAccount },
    ...zones
      .filter((zone) => zone.account.id === account.id)
      .slice(0, MAX_ZONES)
      .map(({ id, name }): Owner => ({ type: 'zone', name, path: `/zones/${id}` })),
  ]
}

/** The API counts requests, so jobs of further zones are not read. */
const MAX_ZONES = 60
const FEW_OWNERS = 10
const OFTEN_MS = 5000
const SELDOM_MS = 30_000

/** Reads the jobs of the account and of its zones, by name. */
export function useJobs(): Read<readonly OwnedJob[]> {
  const owners = useOwners()
  const areZonesKnown = useZones().value !== undefined
  const reads = useQueries({
    queries: owners.map(({ path }) => ({
      queryKey: [`${path}/logpush/jobs`],
      queryFn: async () => await sendWhole<readonly Job[]>('GET', `${path}/logpush/jobs`),
      refetchInterval: owners.length <= FEW_OWNERS ? OFTEN_MS : SELDOM_MS,
    })),
  })
  const jobs = reads.flatMap(({ data }, at) => (data?.result ?? []).map((job) => ({ ...job, owner: owners[at]! })))
  const isReady = areZonesKnown && reads.every(({ data, error }) => data !== undefined || error !== null)
  // A token of one zone may not see the jobs of the account: that is no error while it sees others.
  const isSeen = reads.some(({ data }) => data !== undefined)
  const failure = reads.find(({ error, failureReason }) => (error ?? failureReason) !== null)
  const reason = failure?.error ?? failure?.failureReason ?? null
  const isRefused = isSeen && statusOf(reason) === 403
  for (const job of jobs) remember(job)
  return {
    value: isReady && isSeen ? jobs.toSorted((a, b) => nameOf(a).localeCompare(nameOf(b))) : undefined,
    info: undefined,
    error: reason === null || isRefused ? undefined : messageOf(reason),
    status: reason === null || isRefused ? undefined : statusOf(reason),
    issues: [],
    at: Math.max(...reads.map(({ dataUpdatedAt }) => dataUpdatedAt)),
    isLoading: !isReady,
    isOld: false,
    reload: () => reads.forEach((read) => void read.refetch()),
  }
}

/** Waiting records of a job at one time. */
interface LagPoint {
  readonly at: number
  readonly records: number
}

const MAX_POINTS = 720
const SECOND_MS = 1000
const lags = new Map<number, LagPoint[]>()

/** Adds the lag of a job to what this tab has seen of it: finer than the history of the API. */
function remember({ id, edged }: Job): void {
  const points = lags.get(id) ?? []
  const at = Date.now()
  if (points.length > 0 && at - points.at(-1)!.at < SECOND_MS) return
  points.push({ at, records: edged.lag_records })
  if (points.length > MAX_POINTS) points.shift()
  lags.set(id, points)
}

/** Returns the lag of a job since this tab has shown the jobs. */
export const lagOf = (id: number): readonly LagPoint[] => lags.get(id) ?? []

const STATUS_TEXTS: Readonly<Record<string, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  413: 'Content Too Large',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
}

/** Says in the words of users why a destination does not take records. */
export function reasonOf(message: string): string {
  const short = message.replace(/^(?:error [a-z ]+: )+/, '')
  const [, , status, said] = /^(\S+) responded with (\d{3})(?:: (.*))?$/s.exec(short) ?? []
  if (status !== undefined) {
    const name = STATUS_TEXTS[status] ? `${status} ${STATUS_TEXTS[status]}` : status
    return `The receiver answered ${name}.${said ? ` It said: "${said}"` : ''}`
  }
  const [, host, code] = /^(\S+) could not be reached: (.*)$/s.exec(short) ?? []
  if (host !== undefined) return `${host} could not be reached: ${REASONS[code!] ?? code}.`
  return short
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'it refused the connection',
  ENOTFOUND: 'its name does not exist',
  ETIMEDOUT: 'it did not answer in time',
  ECONNRESET: 'it ended the connection',
}
