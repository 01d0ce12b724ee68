import type { ReadStream, WriteStream } from 'node:tty'
import { setTimeout as wait } from 'node:timers/promises'
import { coloursFor } from '../common/colours.js'
import type { Frame } from './frame.js'
import { FIRST_SCREEN, pressed, screenLines, type Screen } from './screen.js'

const INTERVAL_MS = 2000
/** Size of a terminal that does not report one. */
const ROWS = 24
const COLUMNS = 80

// The other screen of the terminal, without a cursor. Lines that are too long do not wrap.
const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l'
const LEAVE = '\u001b[?7h\u001b[?25h\u001b[?1049l'
const HOME = '\u001b[H'
const CLEAR_LINE = '\u001b[2K'

/** One key, or one sequence of a key such as an arrow. */
// oxlint-disable-next-line no-control-regex
const KEY = /\u001b\[[\d;]*[A-Za-z~]|\u001b?./gsu

/** Shows frames on a terminal until a key or a signal ends it. Rejects if the first frame cannot be read. */
export async function showLive(read: () => Promise<Frame>, input: ReadStream, output: WriteStream): Promise<void> {
  let now = await read()
  let before: Frame | undefined
  let silentSince: string | undefined
  let screen: Screen = FIRST_SCREEN
  let pages = 1
  const ended = new AbortController()
  const colours = coloursFor(output)
  const draw = (): void => {
    // A terminal may report a size of 0.
    const rows = output.rows || ROWS
    const columns = output.columns || COLUMNS
    const shown = screenLines(screen, { rows, columns, now, before, silentSince }, colours)
    pages = shown.pages
    output.write(`${HOME}${shown.lines.map((line) => `${CLEAR_LINE}${line}`).join('\r\n')}`)
  }
  const onKeys = (data: Buffer): void => {
    for (const [key] of data.toString().matchAll(KEY)) {
      const next = pressed(screen, key, pages)
      if (next === undefined) return ended.abort()
      screen = next
    }
    draw()
  }
  const stop = (): void => ended.abort()
  output.write(ENTER)
  if (input.isTTY) input.setRawMode(true).on('data', onKeys)
  output.on('resize', draw)
  process.once('SIGINT', stop).once('SIGTERM', stop)
  try {
    draw()
    while (!ended.signal.aborted) {
      await wait(INTERVAL_MS, undefined, { signal: ended.signal }).catch(() => undefined)
      if (ended.signal.aborted || screen.isPaused) continue
      try {
        const next = await read()
        before = now
        now = next
        silentSince = undefined
      } catch {
        silentSince ??= new Date().toLocaleTimeString('en-GB')
      }
      draw()
    }
  } finally {
    output.off('resize', draw)
    process.off('SIGINT', stop).off('SIGTERM', stop)
    if (input.isTTY) input.off('data', onKeys).setRawMode(false).pause()
    output.write(LEAVE)
  }
}
