import t from 'tap'
import { ACCOUNT, ZONE } from '../client.js'
import { logpushClient } from './helper.js'

t.test('datasets are listed by owner, with their fields and operators', async (t) => {
  const { call } = await logpushClient(t)
  const ofZone = (await call('GET', `/zones/${ZONE}/edged/datasets`)).body.result as string[]
  const ofAccount = (await call('GET', `/accounts/${ACCOUNT}/edged/datasets`)).body.result as string[]
  t.ok(ofZone.includes('http_requests') && !ofZone.includes('audit_logs_v2'))
  t.ok(ofAccount.includes('audit_logs_v2') && !ofAccount.includes('http_requests'))
  const { result } = (await call('GET', `/zones/${ZONE}/edged/datasets/http_requests`)).body
  const { merges, fields } = result as { merges: boolean; fields: { name: string }[] }
  t.equal(merges, true)
  t.match(
    fields.find(({ name }) => name === 'Cookies'),
    { type: 'object', default: false, operators: [] },
  )
  t.match(
    fields.find(({ name }) => name === 'EdgeResponseStatus'),
    { type: 'int', default: true, deprecated: false, operators: ['eq', '!eq', 'lt', 'leq', 'gt', 'geq', 'in', '!in'] },
  )
  t.equal((await call('GET', `/zones/${ZONE}/edged/datasets/none`)).status, 404)
})
