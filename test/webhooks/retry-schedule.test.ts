import t from 'tap'
import { retryAfter } from '../../src/webhooks/retry-schedule.js'

t.test('Retry-After is seconds of any length or a date of any form, which is GMT on every machine', async (t) => {
  const zone = process.env['TZ']
  process.env['TZ'] = 'America/New_York'
  t.teardown(() => {
    if (zone === undefined) delete process.env['TZ']
    else process.env['TZ'] = zone
  })
  const now = Date.parse('2026-11-23T03:00:00Z')
  const VALUES: [value: string | undefined, ms: number | undefined][] = [
    [undefined, undefined],
    ['', undefined],
    ['soon', undefined],
    ['0', 0],
    ['120', 120_000],
    ['9'.repeat(400), Infinity],
    ['Mon, 23 Nov 2026 03:01:00 GMT', 60_000],
    ['Monday, 23-Nov-26 03:01:00 GMT', 60_000],
    ['Mon Nov 23 03:01:00 2026', 60_000],
    ['2026-11-23T03:01:00Z', 60_000],
    ['Sun, 22 Nov 2026 22:01:00 -0500', 60_000],
    ['Mon, 23 Nov 2020 03:01:00 GMT', 0],
  ]
  for (const [value, ms] of VALUES) t.equal(retryAfter(value, now), ms, String(value).slice(0, 40))
})
