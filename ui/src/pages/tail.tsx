import { useEffect, useRef, useState } from 'preact/hooks'
import { useWork } from '../hooks.ts'
import { Problem } from '../parts.tsx'

/** Lines that are shown; older ones are dropped. */
const MAX_LINES = 500
const FRAME_MS = 100

/** Shows what a WebSocket sends, a line each. `open` creates it. */
export function Tail({ open }: { open: () => Promise<{ url: string; protocol?: string }> }) {
  const [lines, setLines] = useState<readonly string[]>([])
  const [live, setLive] = useState(false)
  const socket = useRef<WebSocket>(null)
  const { busy, error, run } = useWork()
  const [reason, setReason] = useState('')
  useEffect(() => () => socket.current?.close(), [])
  const start = async () => {
    const { url, protocol } = await open()
    const opened = new WebSocket(url, protocol)
    socket.current = opened
    opened.binaryType = 'arraybuffer'
    opened.addEventListener('open', () => setLive(true))
    opened.addEventListener('close', ({ wasClean, reason: text }) => {
      setLive(false)
      setReason(text !== '' ? `The daemon has ended it: ${text}.` : wasClean ? '' : 'The connection broke.')
    })
    let waiting: string[] = []
    opened.addEventListener('message', ({ data }) => {
      const text = typeof data === 'string' ? data : new TextDecoder().decode(data as ArrayBuffer)
      // The page is changed once per frame, however many messages there are; a hidden one has no frames.
      if (waiting.length === 0)
        setTimeout(() => {
          const more = waiting
          waiting = []
          setLines((old) => [...old, ...more].slice(-MAX_LINES))
        }, FRAME_MS)
      for (const line of text.split('\n')) if (line !== '') waiting.push(line)
      if (waiting.length > MAX_LINES) waiting = waiting.slice(-MAX_LINES)
    })
  }
  return (
    <>
      <div class="row">
        {live ? (
          <button type="button" onClick={() => socket.current?.close()}>
            Stop
          </button>
        ) : (
          <button type="button" class="main" aria-disabled={busy} onClick={() => run(start)}>
            Watch
          </button>
        )}
        <button type="button" onClick={() => setLines([])}>
          Clear
        </button>
      </div>
      <Problem text={error} />
      <p class="soft" aria-live="polite">
        {live ? 'Connected.' : `Not connected. ${reason}`} {lines.length > 0 && `${lines.length} lines, newest first.`}
      </p>
      {lines.length > 0 && (
        <pre class="short" tabIndex={0} aria-label="Live lines">
          {lines.toReversed().join('\n')}
        </pre>
      )}
    </>
  )
}
