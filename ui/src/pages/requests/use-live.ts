import { useEffect, useRef, useState } from 'react'
import { messageOf, post } from '../../api/client.ts'
import { usePlace } from '../../place.tsx'
import type { RequestItem } from './types.ts'

/** Older requests of the session are forgotten. */
const MAX_ROWS = 500
const FRAME_MS = 200

export interface Live {
  readonly state: 'off' | 'starting' | 'live' | 'ended'
  /** Why it is not live. */
  readonly reason: string | undefined
  readonly rows: readonly RequestItem[]
  /** Requests that wait while the list is held. */
  readonly waiting: number
  /** Starts a new session after the last one has ended. */
  readonly again: () => void
}

interface Session {
  readonly stop: () => void
}

/** Requests as they come, newest first, while `isOn`. While `isHeld` the rows stay as they are. */
export function useLive({
  expression,
  isOn,
  isHeld,
}: {
  expression: string | undefined
  isOn: boolean
  isHeld: boolean
}): Live {
  const { ofZone } = usePlace()
  const [state, setState] = useState<Live['state']>('off')
  const [reason, setReason] = useState<string>()
  const [all, setAll] = useState<readonly RequestItem[]>([])
  const [held, setHeld] = useState<readonly RequestItem[]>()
  const [tries, setTries] = useState(0)
  const latest = useRef(all)
  latest.current = all
  useEffect(() => setHeld(isHeld ? latest.current : undefined), [isHeld])
  useEffect(() => {
    setAll([])
    if (!isOn) return setState('off')
    setState('starting')
    const session = listen(`${ofZone}/edged/requests/tail`, expression, {
      onOpen: () => setState('live'),
      onRows: (rows) => setAll((old) => [...rows, ...old].slice(0, MAX_ROWS)),
      onEnd: (why) => {
        setState('ended')
        setReason(why)
      },
    })
    return session.stop
  }, [ofZone, expression, isOn, tries])
  const rows = held ?? all
  return {
    state,
    reason: state === 'ended' ? reason : undefined,
    rows,
    waiting: held ? countBefore(all, held[0]) : 0,
    again: () => setTries(tries + 1),
  }
}

function countBefore(all: readonly RequestItem[], first: RequestItem | undefined): number {
  const at = first ? all.findIndex(({ ray_id: ray }) => ray === first.ray_id) : -1
  return at === -1 ? all.length : at
}

interface Listener {
  readonly onOpen: () => void
  readonly onRows: (rows: readonly RequestItem[]) => void
  readonly onEnd: (why: string) => void
}

function listen(path: string, filter: string | undefined, { onOpen, onRows, onEnd }: Listener): Session {
  let isStopped = false
  let socket: WebSocket | undefined
  let waiting: RequestItem[] = []
  let timer: ReturnType<typeof setTimeout> | undefined
  // The page is drawn once in a frame, however many requests there are.
  const flush = (): void => {
    timer = undefined
    onRows(waiting)
    waiting = []
  }
  const connect = async (): Promise<void> => {
    try {
      const { url } = await post<{ url: string }>(path, filter === undefined ? {} : { filter })
      if (isStopped) return
      socket = new WebSocket(url)
      socket.addEventListener('open', onOpen)
      socket.addEventListener('message', ({ data }) => {
        for (const line of String(data).split('\n')) if (line !== '') waiting.unshift(JSON.parse(line) as RequestItem)
        waiting.length = Math.min(waiting.length, MAX_ROWS)
        timer ??= setTimeout(flush, FRAME_MS)
      })
      socket.addEventListener('close', ({ reason }) => {
        if (!isStopped) onEnd(reason === '' ? 'the connection broke' : reason)
      })
    } catch (error) {
      if (!isStopped) onEnd(messageOf(error))
    }
  }
  void connect()
  return {
    stop: () => {
      isStopped = true
      clearTimeout(timer)
      socket?.close()
    },
  }
}
