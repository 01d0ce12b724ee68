import t from 'tap'
import { openMetrics } from '../../../src/core/metrics/metrics.js'
import { systemClock } from '../../../src/core/clock.js'
import { WorkerMetrics } from '../../../src/daemon/workers/metrics.js'

const counted = async (count: (metrics: WorkerMetrics) => void): Promise<string> => {
  const registry = openMetrics({ process: false })
  count(new WorkerMetrics(registry, systemClock))
  return await registry.metrics()
}

t.test('scripts of the same name in two accounts are counted separately', async (t) => {
  const text = await counted((metrics) => {
    metrics.ended('a', 'app', 'ok', 0)
    metrics.ended('b', 'app', 'ok', 0)
    metrics.ended('b', 'app', 'exception', systemClock.monotonic())
  })
  t.match(text, 'edged_worker_requests_total{script="app",outcome="ok",account="a"} 1')
  t.match(text, 'edged_worker_requests_total{script="app",outcome="ok",account="b"} 1')
  t.match(text, 'edged_worker_requests_total{script="app",outcome="exception",account="b"} 1')
  t.match(text, 'edged_worker_duration_seconds_count{script="app",account="b"} 2')
  t.match(text, 'edged_worker_duration_seconds_bucket{le="+Inf",script="app",account="a"} 1')
})

t.test('many scripts of one account leave labels for other accounts', async (t) => {
  const text = await counted((metrics) => {
    for (let n = 0; n < 1000; n++) metrics.ended('a', `s${n}`, 'ok', 0)
    metrics.ended('b', 'app', 'ok', 0)
  })
  t.match(text, 'edged_worker_requests_total{script="s49",outcome="ok",account="a"} 1')
  t.match(text, 'edged_worker_requests_total{script="other",outcome="ok",account="a"} 950')
  t.match(text, 'edged_worker_requests_total{script="app",outcome="ok",account="b"} 1')
})

t.test('the number of series is bounded with many accounts', async (t) => {
  const text = await counted((metrics) => {
    for (let a = 0; a < 1000; a++) for (let n = 0; n < 3; n++) metrics.ended(`a${a}`, `s${n}`, 'ok', 0)
  })
  const lines = text.split('\n').filter((line) => line.startsWith('edged_worker_requests_total{'))
  t.ok(lines.length <= 401, String(lines.length))
  t.match(text, 'edged_worker_requests_total{script="other",outcome="ok",account="other"} 2400')
  t.equal(
    lines.reduce((sum, line) => sum + Number(line.split(' ')[1]), 0),
    3000,
  )
})
