import t from 'tap'
import { attentionText } from '../../ui/src/pages/overview/attention-text.ts'
import { clock } from '../../ui/src/parts/format.ts'

t.test('times in texts of the API are written as elsewhere in the dashboard', async (t) => {
  const at = '2026-11-28T22:44:23.997Z'
  const now = Date.parse('2026-11-28T22:31:00Z')
  t.equal(
    attentionText(`Webhook On call is paused after 5 failures, next try at ${at} · 14 deliveries waiting`, now),
    `Webhook On call is paused after 5 failures, next try at ${clock(at)} · 14 deliveries waiting`,
  )
  t.equal(attentionText('shop.test has no certificate', now), 'shop.test has no certificate')
})
