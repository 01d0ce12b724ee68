import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { messageOf, sendWhole, statusOf, whenSignedIn, type ResultInfo } from './api.ts'

/** A value of the API that a page shows. */
export interface Read<T> {
  /** Undefined before the first response. */
  readonly value: T | undefined
  readonly info: ResultInfo | undefined
  /** Of the last request; the value comes from an earlier one then. */
  readonly error: string | undefined
  /** Status of the response with the error; 0: the daemon did not respond. */
  readonly status: number | undefined
  readonly reload: () => void
}

interface State<T> {
  readonly path?: string
  readonly value?: T
  readonly info?: ResultInfo | undefined
  readonly failure?: unknown
}

/** A daemon that restarts is asked again after this time. */
const RETRY_MS = 2000

/** Reads a path of the API, again when it changes, and every `everyMs` while the page is visible. */
export function useRead<T>(path: string | undefined, everyMs?: number): Read<T> {
  const [state, setState] = useState<State<T>>({})
  const [turn, setTurn] = useState(0)
  const reload = useCallback(() => setTurn((old) => old + 1), [])
  useEffect(() => whenSignedIn(reload), [reload])
  useEffect(() => {
    if (path === undefined) return undefined
    let over = false
    let timer: ReturnType<typeof setTimeout> | undefined
    const later = (ms: number | undefined) => {
      if (!over && ms !== undefined) timer = setTimeout(() => (document.hidden ? later(ms) : void read()), ms)
    }
    const read = async () => {
      try {
        const { result: value, result_info: info } = await sendWhole<T>('GET', path)
        if (!over) setState({ path, value, info })
        later(everyMs)
      } catch (failure) {
        if (!over) setState((old) => ({ ...(old.path === path && old), path, failure }))
        const status = statusOf(failure)
        later(everyMs ?? (status === 0 || status === 503 ? RETRY_MS : undefined))
      }
    }
    void read()
    return () => {
      over = true
      clearTimeout(timer)
    }
  }, [path, turn, everyMs])
  const { value, info, failure }: State<T> = state.path === path ? state : {}
  const error = failure === undefined ? undefined : messageOf(failure)
  return { value, info, error, status: statusOf(failure), reload }
}

/** A list that the API returns in pages. */
export interface Paged<T> extends Read<readonly T[]> {
  readonly page: number
  readonly setPage: (page: number) => void
}

export const PER_PAGE = 50

/** Reads one page of a list. Another path, as with another filter, begins with the first page. */
export function usePages<T>(path: string, everyMs?: number): Paged<T> {
  const [chosen, setChosen] = useState({ path, page: 1 })
  const page = chosen.path === path ? chosen.page : 1
  const joint = path.includes('?') ? '&' : '?'
  const read = useRead<readonly T[]>(`${path}${joint}page=${page}&per_page=${PER_PAGE}`, everyMs)
  const last = useLast(read)
  const setPage = useCallback((next: number) => setChosen({ path, page: next }), [path])
  // Its last entries may have been deleted.
  const pages = read.info?.total_pages ?? 0
  useEffect(() => {
    if (pages > 0 && page > pages) setPage(pages)
  }, [page, pages, setPage])
  return { ...last, page, setPage }
}

/** Returns a read whose last value stays until the next page is there, and with it the focus on its buttons. */
export function useLast<T>(read: Read<T>): Read<T> {
  const last = useRef<Read<T>>(undefined)
  if (read.value !== undefined) last.current = read
  return { ...read, value: read.value ?? last.current?.value, info: read.info ?? last.current?.info }
}

/** Work that a button starts: its error, and whether it runs. */
export interface Work {
  readonly busy: boolean
  readonly error: string | undefined
  /** What `run` threw, for errors that belong to a field. */
  readonly failure: unknown
  readonly run: (work: () => Promise<unknown>) => void
}

/** Runs one piece of work at a time and keeps its error. */
export function useWork(): Work {
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<unknown>()
  const running = useRef(false)
  const run = useCallback((work: () => Promise<unknown>) => {
    if (running.current) return
    running.current = true
    setBusy(true)
    setFailure(undefined)
    work()
      .catch((reason: unknown) => setFailure(reason))
      .finally(() => {
        running.current = false
        setBusy(false)
      })
  }, [])
  return { busy, failure, error: failure === undefined ? undefined : messageOf(failure), run }
}

/** Returns a value that follows another one after a pause, for requests that follow typing. */
export function useSettled<T>(value: T, ms = 250): T {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return settled
}

/** The page and the place that the address names after `#`, as in `#/rulesets?zone=ID`. */
export interface Route {
  readonly path: string
  readonly account: string | undefined
  readonly zone: string | undefined
}

function routeOf(hash: string): Route {
  const [path = '', query] = hash.slice(1).split('?')
  const names = new URLSearchParams(query)
  return { path: path || '/', account: names.get('account') ?? undefined, zone: names.get('zone') ?? undefined }
}

/** Returns the address of a page for a place. */
export function hashOf({ path, account, zone }: Partial<Route>): string {
  const query = zone ? `?zone=${encodeURIComponent(zone)}` : account ? `?account=${encodeURIComponent(account)}` : ''
  return `#${path}${query}`
}

/** Returns what the address names, again when it changes. */
export function useRoute(): Route {
  const [route, setRoute] = useState(() => routeOf(location.hash))
  useEffect(() => {
    const changed = () => setRoute(routeOf(location.hash))
    addEventListener('hashchange', changed)
    return () => removeEventListener('hashchange', changed)
  }, [])
  return route
}
