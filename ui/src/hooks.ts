import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { get, messageOf } from './api.ts'

/** A value of the API that a page shows. */
export interface Read<T> {
  /** Undefined before the first response. */
  readonly value: T | undefined
  readonly error: string | undefined
  readonly reload: () => void
}

/** Reads a path of the API, again when it changes, and every `everyMs` while the page is visible. */
export function useRead<T>(path: string | undefined, everyMs?: number): Read<T> {
  const [state, setState] = useState<{ path?: string | undefined; value?: T; error?: string }>({})
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    if (path === undefined) return undefined
    let over = false
    void (async () => {
      try {
        const value = await get<T>(path)
        if (!over) setState({ path, value })
      } catch (error) {
        if (!over) setState((old) => ({ ...(old.path === path && old), path, error: messageOf(error) }))
      }
    })()
    return () => {
      over = true
    }
  }, [path, turn])
  useEffect(() => {
    if (everyMs === undefined) return undefined
    const timer = setInterval(() => {
      if (!document.hidden) setTurn((old) => old + 1)
    }, everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  const reload = useCallback(() => setTurn((old) => old + 1), [])
  const current = state.path === path
  return { value: current ? state.value : undefined, error: current ? state.error : undefined, reload }
}

/** Work that a button starts: its error, and whether it runs. */
export interface Work {
  readonly busy: boolean
  readonly error: string | undefined
  readonly run: (work: () => Promise<unknown>) => void
}

/** Runs one piece of work at a time and keeps its error. */
export function useWork(): Work {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<string>()
  const running = useRef(false)
  const run = useCallback((work: () => Promise<unknown>) => {
    if (running.current) return
    running.current = true
    setBusy(true)
    setError(undefined)
    work()
      .catch((reason: unknown) => setError(messageOf(reason)))
      .finally(() => {
        running.current = false
        setBusy(false)
      })
  }, [])
  return { busy, error, run }
}

/** Returns the part of the address after `#`, which names the page. */
export function useRoute(): string {
  const [route, setRoute] = useState(location.hash.slice(1) || '/')
  useEffect(() => {
    const changed = () => setRoute(location.hash.slice(1) || '/')
    addEventListener('hashchange', changed)
    return () => removeEventListener('hashchange', changed)
  }, [])
  return route
}
