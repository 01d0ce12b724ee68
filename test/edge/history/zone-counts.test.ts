import t from 'tap'
import { priceOf } from '../../../src/agents/access/access.js'
import type { Exchange } from '../../../src/edge/exchange/exchange.js'
import { HistoryCounter } from '../../../src/edge/history/counter.js'
import { Geo } from '../../../src/edge/exchange/geo.js'
import { silentLog } from '../../../src/core/log.js'
import { SectionReader } from '../../../src/history/codec.js'
import {
  ACCESS,
  ACTIONS,
  CHARGED,
  newRow,
  placeOf,
  REQUESTS,
  TOTAL,
  type DimensionName,
  type Row,
} from '../../../src/history/layout.js'
import type { HistoryPart } from '../../../src/history/part.js'
import { HandClock } from '../../helpers/hand-clock.js'

const exchange = (more: object = {}): Exchange =>
  ({
    zone: { id: 'z1', accountId: 'a1' },
    clientAddress: '192.0.2.1',
    startedMonotonic: 0,
    method: 'GET',
    host: 'a.test',
    rawTarget: '/',
    matches: [],
    sent: { status: 200, bodyBytes: 10, headers: ['content-type', 'text/html'] },
    caching: { bytes: 0 },
    origin: { bytes: 0 },
    ...more,
  }) as unknown as Exchange

function counted() {
  const parts: HistoryPart[] = []
  const clock = new HandClock()
  const history = { add: async (some: readonly HistoryPart[]) => void parts.push(...some) }
  const counter = new HistoryCounter({ history, geo: new Geo(), clock, log: silentLog })
  counter.isEnabled = true
  return {
    counter,
    clock,
    parts,
    /** Returns the rows of a dimension of all parts. */
    rows(place: number): Map<string, Row> {
      const found = new Map<string, Row>()
      for (const { cell } of parts)
        for (const sections = new SectionReader(cell); !sections.isAtEnd;) {
          const { number, bytes } = sections.section()
          if (number === place) addRows(found, bytes)
        }
      return found
    },
  }
}

function addRows(found: Map<string, Row>, bytes: Uint8Array): void {
  for (const reader = new SectionReader(bytes); !reader.isAtEnd;) {
    const key = reader.key()
    const row = found.get(key) ?? newRow()
    reader.add(row)
    found.set(key, row)
  }
}

const requests = (rows: Map<string, Row>): Record<string, number> =>
  Object.fromEntries([...rows].map(([key, row]) => [key, row[REQUESTS]!]))

t.test('cells end with the clock, and the rest is sent at the end', async (t) => {
  const { counter, clock, parts, rows } = counted()
  const start = clock.now()
  counter.finished(exchange())
  await clock.advance(10_000)
  counter.finished(exchange())
  counter.finished(exchange({ zone: { id: 'z2', accountId: 'a2' } }))
  await counter.close()
  t.same(
    parts.map(({ time, zone, account }) => [time - start, zone, account]),
    [
      [0, 'z1', 'a1'],
      [10_000, 'z1', 'a1'],
      [10_000, 'z2', 'a2'],
    ],
  )
  t.same(requests(rows(TOTAL)), { '': 3 })
})

t.test('charges are counted by agent and currency, and actions by agent', async (t) => {
  const { counter, rows } = counted()
  const agent = { name: 'Reader', operator: 'Reader Inc.', category: 'ai_crawler', verified: 'signature' }
  for (const price of ['USD 0.01', 'USD 0.02', 'EUR 1'])
    counter.finished(exchange({ agent, agentAction: 'pay', charged: priceOf(price) }))
  counter.finished(exchange({ agent, agentAction: 'block', sent: { status: 403, bodyBytes: 1 } }))
  await counter.close()
  const charges = rows(placeOf('charge'))
  t.equal(charges.get('Reader\nUSD')?.[CHARGED], 30_000)
  t.equal(charges.get('Reader\nEUR')?.[CHARGED], 1_000_000)
  const [[key, row] = []] = [...rows(placeOf('agent'))]
  t.equal(key, 'Reader\nReader Inc.\nai_crawler')
  t.equal(row?.[ACCESS + ACTIONS.indexOf('pay')], 3)
  t.equal(row?.[ACCESS + ACTIONS.indexOf('block')], 1)
})

t.test('hostile requests have bounded counts', async (t) => {
  const { counter, parts, rows } = counted()
  for (let i = 0; i < 3000; i++) {
    const zone = { id: `z${i % 1500}`, accountId: 'a1' }
    const rawTarget = `/${'x'.repeat(5000)}${i}?${i}`
    counter.finished(
      exchange({ zone, rawTarget, host: `${i}.test`, method: `M${i}`, sent: { status: 999, bodyBytes: 0 } }),
    )
  }
  await counter.close()
  t.equal(parts.length, 1001, '1,000 zones and the others')
  t.equal(parts.filter(({ zone }) => zone === 'other').length, 1)
  for (const name of ['path', 'host', 'method'] satisfies DimensionName[]) {
    const found = requests(rows(placeOf(name)))
    t.equal(
      Object.values(found).reduce((sum, each) => sum + each, 0),
      3000,
      `every request is counted by ${name}`,
    )
    t.ok(Object.keys(found).every((key) => key.length <= 256))
  }
  t.ok(parts.every(({ cell }) => cell.length < 100_000))
})

t.test('paths are the text that their bytes are in UTF-8, without queries', async (t) => {
  const { counter, rows } = counted()
  counter.finished(exchange({ rawTarget: Buffer.from('/café?secret=1').toString('latin1') }))
  await counter.close()
  t.same(requests(rows(placeOf('path'))), { '/café': 1 })
})

t.test('a history that fails loses counts, and nothing else', async (t) => {
  let calls = 0
  const clock = new HandClock()
  const add = async (): Promise<void> => {
    calls++
    await Promise.reject(new Error('no'))
  }
  const history = { add }
  const counter = new HistoryCounter({ history, geo: new Geo(), clock, log: silentLog })
  counter.isEnabled = true
  counter.finished(exchange())
  await counter.flush()
  counter.finished(exchange())
  await counter.close()
  t.equal(calls, 2)
})
