import { cursorTo, clearLine } from 'node:readline'
import { PassThrough } from 'node:stream'
import type { WriteStream } from 'node:tty'
import t from 'tap'
import { showCount, showProgress } from '../../../src/commands/common/progress.js'

/** Returns what a terminal shows that receives these characters, without empty lines at the end. */
function shown(written: string): string {
  const lines = ['']
  let row = 0
  let column = 0
  let saved: [number, number] = [0, 0]
  // oxlint-disable-next-line no-control-regex
  for (const [token, text] of written.matchAll(/\x1b(?:7|8|\[[?\d;]*[A-Za-z])|([^\x1b\n]+)|\n/g)) {
    const line = lines[row] as string
    if (text !== undefined) {
      lines[row] = line.slice(0, column).padEnd(column) + text + line.slice(column + text.length)
      column += text.length
    } else if (token === '\n') {
      row++
      column = 0
      if (row === lines.length) lines.push('')
    } else if (token === '\x1b7') saved = [row, column]
    else if (token === '\x1b8') [row, column] = saved
    else if (token.endsWith('G')) column = Number(token.slice(2, -1)) - 1
    else if (token === '\x1b[2K') lines[row] = ''
    else if (token === '\x1b[0K') lines[row] = line.slice(0, column)
  }
  return lines.join('\n').trimEnd()
}

function terminal() {
  const pass = new PassThrough()
  const stream = Object.assign(pass, {
    isTTY: true as const,
    columns: 80,
    clearLine: () => clearLine(pass, 0),
    cursorTo: (x: number) => cursorTo(pass, x),
  }) as unknown as WriteStream
  return { stream, screen: () => shown(String(pass.read() ?? '')) }
}

t.test('a progress bar disappears and leaves the lines that were written above it', async (t) => {
  const { stream, screen } = terminal()
  const progress = showCount(stream, 3, 'pages')
  progress.done(1)
  progress.above(() => stream.write('a.html: no such file\n'))
  progress.done(2)
  progress.above(() => stream.write('b.html: no such file\n'))
  progress.done(3)
  progress.stop()
  stream.write('end\n')
  t.equal(screen(), 'a.html: no such file\nb.html: no such file\nend')
})

t.test('so does that of a run', async (t) => {
  const { stream, screen } = terminal()
  const progress = showProgress(stream)
  progress.start([])
  progress.above(() => stream.write('line 3: not JSON\n'))
  progress.stop()
  stream.write('end\n')
  t.equal(screen(), 'line 3: not JSON\nend')
})
