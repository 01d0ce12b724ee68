import { QueryClient, useMutation, useQuery, useQueryClient, type UseQueryResult } from '@tanstack/react-query'
import {
  issuesOf,
  messageOf,
  sendWhole,
  statusOf,
  whenSignedIn,
  type ApiIssue,
  type Envelope,
  type ResultInfo,
} from './client.ts'

/** Reads that fail because the daemon restarts are tried again after this time. */
const RETRY_MS = 2000
/** Values that a moving range has left behind are forgotten after this time. */
const KEPT_MS = 30_000
/** Client errors stay as they are, however often the API is asked. */
const isPermanent = (error: unknown): boolean => {
  const status = statusOf(error)
  return status !== undefined && status >= 400 && status < 500 && status !== 429
}

/** The values that pages have read, by path. Two parts of a page that read the same path send one request. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      retry: (_count, error) => !isPermanent(error),
      retryDelay: RETRY_MS,
      staleTime: 1000,
      refetchOnWindowFocus: true,
      networkMode: 'always',
    },
    mutations: { networkMode: 'always' },
  },
})
whenSignedIn(() => void queries.invalidateQueries())

/** A value of the API that a page shows. */
export interface Read<T> {
  /** `undefined` before the first response. After a failure the last value stays. */
  readonly value: T | undefined
  readonly info: ResultInfo | undefined
  readonly error: string | undefined
  /** Status of the response with the error. 0: the daemon did not respond. */
  readonly status: number | undefined
  /** The errors of the response. */
  readonly issues?: readonly ApiIssue[]
  /** When the value was read, in milliseconds since 1970. */
  readonly at: number
  readonly isLoading: boolean
  /** The value belongs to an earlier path, until the new value is there. */
  readonly isOld: boolean
  readonly reload: () => void
}

/** Reads a path of the API, again when the path changes, and every `every` milliseconds while the page is visible. */
export function useRead<T>(path: string | undefined, options: { every?: number; keep?: boolean } = {}): Read<T> {
  const query = useQuery<Envelope<T>>({
    queryKey: [path],
    queryFn: async () => await sendWhole<T>('GET', path!),
    enabled: path !== undefined,
    ...(options.every !== undefined && { refetchInterval: options.every }),
    // Ranges that move on leave a value behind each time.
    ...(options.keep && { placeholderData: (last: Envelope<T> | undefined) => last, gcTime: KEPT_MS }),
  })
  return readOf(query)
}

/** Returns the state of a query as pages show it. */
function readOf<T>(query: UseQueryResult<Envelope<T>>): Read<T> {
  const failure = query.error ?? query.failureReason
  return {
    value: query.data?.result,
    info: query.data?.result_info,
    error: failure === null ? undefined : messageOf(failure),
    status: failure === null ? undefined : statusOf(failure),
    issues: issuesOf(failure),
    at: query.dataUpdatedAt,
    isLoading: query.isLoading,
    isOld: query.isPlaceholderData,
    reload: () => void query.refetch(),
  }
}

export const PER_PAGE = 50
/** A list is read to its end up to this many pages. */
const MAX_PAGES = 40

/** Reads a list to its end, at most 2,000 items. `info.total_count` has the number of all items. */
export function useList<T>(path: string | undefined, options: { every?: number } = {}): Read<readonly T[]> {
  const query = useQuery<Envelope<readonly T[]>>({
    queryKey: [path, 'all'],
    queryFn: async () => await readAll<T>(path!),
    enabled: path !== undefined,
    ...(options.every !== undefined && { refetchInterval: options.every }),
  })
  return readOf(query)
}

async function readAll<T>(path: string): Promise<Envelope<readonly T[]>> {
  const joint = path.includes('?') ? '&' : '?'
  const items: T[] = []
  for (let page = 1; ; page += 1) {
    const read = await sendWhole<readonly T[]>('GET', `${path}${joint}page=${page}&per_page=${PER_PAGE}`)
    items.push(...read.result)
    if (page >= Math.min(read.result_info?.total_pages ?? 1, MAX_PAGES)) return { ...read, result: items }
  }
}

/** A change that the user starts. */
export interface Work<I = void, O = unknown> {
  readonly busy: boolean
  readonly error: string | undefined
  /** The last failure, for errors that belong to a field. Undefined after a success. */
  readonly failure: unknown
  /** Starts the work and returns its result. Throws its failure. */
  readonly run: (input: I) => Promise<O>
  /** Starts the work. The failure is in `failure`. */
  readonly start: (input: I) => void
  readonly reset: () => void
}

/**
 * Runs a change. Then reads every path again that begins with one of `touches`, or every path of the page without
 * `touches`.
 */
export function useWork<I = void, O = unknown>(
  work: (input: I) => Promise<O>,
  touches?: readonly string[],
): Work<I, O> {
  const client = useQueryClient()
  const mutation = useMutation<O, unknown, I>({
    mutationFn: work,
    onSuccess: () => {
      void client.invalidateQueries({
        predicate: ({ queryKey: [path] }) =>
          touches === undefined || touches.some((prefix) => String(path).startsWith(prefix)),
      })
    },
  })
  return {
    busy: mutation.isPending,
    failure: mutation.error ?? undefined,
    error: mutation.error === null ? undefined : messageOf(mutation.error),
    run: mutation.mutateAsync,
    start: (input) => {
      if (!mutation.isPending) mutation.mutate(input)
    },
    reset: mutation.reset,
  }
}
