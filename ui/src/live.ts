import { useEffect, useRef, useState } from 'react'
import { messageOf } from './api/client.ts'

/** Older lines are forgotten. */
const MAX_LINES = 500
const FRAME_MS = 150

/** Where a live session sends its lines. */
export interface LiveSession {
  readonly url: string
  readonly protocol?: string
}

export interface LiveLine {
  readonly id: number
  readonly at: number
  readonly text: string
}

/** Lines of a live session. */
export interface Live {
  readonly state: 'off' | 'starting' | 'live' | 'ended'
  /** Why it has ended. */
  readonly reason: string | undefined
  /** Newest first. */
  readonly lines: readonly LiveLine[]
  /** Lines that have come since the session was opened, also those that are forgotten. */
  readonly total: number
  /** Starts a new session after the last one has ended. */
  readonly again: () => void
  readonly clear: () => void
}

/** Opens a live session while `key` is set, and a new one when it changes. */
export function useLive(key: string | undefined, open: () => Promise<LiveSession>): Live {
  const [state, setState] = useState<Live['state']>('off')
  const [reason, setReason] = useState<string>()
  const [come, setLines] = useState<{ of?: string; lines: readonly LiveLine[]; total: number }>(NOTHING)
  const [tries, setTries] = useState(0)
  const opener = useRef(open)
  opener.current = open
  useEffect(() => {
    setLines(NOTHING)
    if (key === undefined) return setState('off')
    setState('starting')
    return listen(opener.current, {
      onOpen: () => setState('live'),
      onLines: (more) =>
        setLines((old) => ({
          of: key,
          lines: [...more, ...old.lines].slice(0, MAX_LINES),
          total: old.total + more.length,
        })),
      onEnd: (why) => {
        setState('ended')
        setReason(why)
      },
    })
  }, [key, tries])
  // Until the effect has run, the lines are those of the session before.
  const { lines, total } = come.of === key ? come : NOTHING
  return {
    state,
    reason: state === 'ended' ? reason : undefined,
    lines,
    total,
    again: () => setTries(tries + 1),
    clear: () => setLines(NOTHING),
  }
}

const NOTHING = { lines: [], total: 0 }

interface Listener {
  readonly onOpen: () => void
  readonly onLines: (lines: readonly LiveLine[]) => void
  readonly onEnd: (why: string) => void
}

let lastId = 0

/** Returns how to stop. */
function listen(open: () => Promise<LiveSession>, { onOpen, onLines, onEnd }: Listener): () => void {
  let isStopped = false
  let socket: WebSocket | undefined
  let waiting: LiveLine[] = []
  let timer: ReturnType<typeof setTimeout> | undefined
  // The page is drawn once in a frame, however many lines there are.
  const flush = (): void => {
    timer = undefined
    onLines(waiting)
    waiting = []
  }
  const start = async (): Promise<void> => {
    try {
      const { url, protocol } = await open()
      if (isStopped) return
      socket = new WebSocket(url, protocol)
    } catch (error) {
      if (!isStopped) onEnd(messageOf(error))
      return
    }
    socket.binaryType = 'arraybuffer'
    socket.addEventListener('open', onOpen)
    socket.addEventListener('message', ({ data }) => {
      const text = typeof data === 'string' ? data : new TextDecoder().decode(data as ArrayBuffer)
      for (const line of text.split('\n'))
        if (line !== '') waiting.unshift({ id: ++lastId, at: Date.now(), text: line })
      timer ??= setTimeout(flush, FRAME_MS)
    })
    socket.addEventListener('close', ({ reason }) => {
      if (!isStopped) onEnd(reason === '' ? 'the connection broke' : reason)
    })
  }
  void start()
  return () => {
    isStopped = true
    clearTimeout(timer)
    socket?.close()
  }
}
