import { useEffect, useRef, useState } from 'preact/hooks'
import { useWork } from '../hooks.ts'
import { Problem } from '../parts.tsx'

/** Lines that are shown; older ones are dropped. */
const MAX_LINES = 500

/** Shows what a WebSocket sends, a line each. `open` creates it. */
export function Tail({ open }: { open: () => Promise<{ url: string; protocol?: string }> }) {
  const [lines, setLines] = useState<readonly string[]>([])
  const [live, setLive] = useState(false)
  const socket = useRef<WebSocket>(null)
  const { busy, error, run } = useWork()
  useEffect(() => () => socket.current?.close(), [])
  const start = async () => {
    const { url, protocol } = await open()
    const opened = new WebSocket(url, protocol)
    socket.current = opened
    opened.binaryType = 'arraybuffer'
    opened.addEventListener('open', () => setLive(true))
    opened.addEventListener('close', () => setLive(false))
    opened.addEventListener('message', ({ data }) => {
      const text = typeof data === 'string' ? data : new TextDecoder().decode(data as ArrayBuffer)
      const more = text.split('\n').filter((line) => line !== '')
      setLines((old) => [...old, ...more].slice(-MAX_LINES))
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
          <button type="button" class="main" disabled={busy} onClick={() => run(start)}>
            Watch
          </button>
        )}
        <button type="button" onClick={() => setLines([])}>
          Clear
        </button>
      </div>
      <Problem text={error} />
      <p class="soft" aria-live="polite">
        {live ? 'Connected.' : 'Not connected.'} {lines.length > 0 && `${lines.length} lines, newest first.`}
      </p>
      {lines.length > 0 && (
        <pre class="short" tabIndex={0} aria-label="Live lines">
          {lines.toReversed().join('\n')}
        </pre>
      )}
    </>
  )
}
