import t from 'tap'
import { openLog } from '../../src/core/log.js'
import { until } from '../helpers/web.js'

t.test('one event does not fill the log', { skip: process.stdout.isTTY && 'a terminal gets text' }, async (t) => {
  const lines: Record<string, unknown>[] = []
  const write = (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>)
  const log = openLog({ level: 'info' }, { write })
  const child = log.child({ process: 1 })
  const sent = 20_000
  const started = performance.now()
  for (let i = 0; i < sent; i++) (i % 2 ? log : child).warn({ event: 'repeated' })
  const seconds = Math.ceil((performance.now() - started) / 1000) + 1
  log.info({ event: 'other' })
  log.info('a text only')
  const written = () => lines.filter(({ event }) => event === 'repeated').length
  t.ok(written() <= seconds * 1000 && written() >= 1000, `${written()} lines`)
  t.ok(lines.some(({ event }) => event === 'other'))
  t.ok(lines.some(({ msg }) => msg === 'a text only'))
  const dropped = () =>
    lines.reduce(
      (sum, { event, of, lines: n }) => sum + (event === 'log_lines_dropped' && of === 'repeated' ? Number(n) : 0),
      0,
    )
  await until(() => {
    log.info({ event: 'tick' })
    return dropped() + written() === sent
  })
})
