import t from 'tap'
import { LOGPUSH_JOBS } from '../../../src/core/model/logpush-job.js'
import { ACCOUNT, OTHER_ZONE, ZONE } from '../client.js'
import { HTTPS, JOBS, logpushClient } from './helper.js'

t.test('a destination is tried out when it is new and when a job is enabled, never when it is disabled', async (t) => {
  const { call, destinations, store } = await logpushClient(t)
  const refused = {
    status: 400,
    body: {
      errors: [
        {
          code: 1002,
          message:
            /^error validating destination: error writing object: error uploading: logs\.example\.com responded with 403$/,
          source: { pointer: '/destination_conf' },
        },
      ],
    },
  }
  t.match(await call('POST', JOBS, { destination_conf: 'down://a' }), refused)
  t.same(store.list(LOGPUSH_JOBS), [])
  destinations.reached.length = 0

  const put = async (body: object) => await call('PUT', `${JOBS}/1`, body)
  await call('POST', JOBS, { destination_conf: HTTPS, enabled: true })
  t.same(destinations.reached.splice(0), [HTTPS], 'on creation')
  destinations.down.add(HTTPS)
  t.equal((await put({ name: 'b' })).status, 200)
  t.equal((await put({ enabled: true, destination_conf: HTTPS })).status, 200, 'nothing of it changes')
  t.equal((await put({ enabled: false })).status, 200)
  t.same(destinations.reached.splice(0), [], 'not while its receiver is down')
  t.match(await put({ enabled: true }), refused)
  t.match((await call('GET', `${JOBS}/1`)).body.result, { enabled: false })
  destinations.down.clear()
  t.equal((await put({ enabled: true })).status, 200)
  t.same(destinations.reached.splice(0), [HTTPS, HTTPS], 'on enabling')
  t.match(await put({ destination_conf: 'down://b' }), refused)
  t.match((await call('GET', `${JOBS}/1`)).body.result, { destination_conf: HTTPS })
  t.equal((await put({ enabled: false, destination_conf: 'down://b' })).status, 200, 'disabling always works')
})

const S3 = 's3://bucket/logs?region=eu-central-1'

t.test('an ownership challenge proves whose a destination is', async (t) => {
  const { call, destinations, clock } = await logpushClient(t)
  const wanted = { status: 400, body: { errors: [{ code: 1002, source: { pointer: '/ownership_challenge' } }] } }
  t.match(await call('POST', JOBS, { destination_conf: S3 }), wanted)
  t.match((await call('POST', JOBS, { destination_conf: S3, ownership_challenge: 'abc' })).body.errors, [
    { message: 'incorrect ownership challenge' },
  ])
  const asked = await call('POST', `/zones/${ZONE}/logpush/ownership`, { destination_conf: S3 })
  t.strictSame(asked.body.result, { filename: 'bucket/logs/ownership-challenge.txt', message: '', valid: true })
  const token = destinations.files.get('bucket/logs/ownership-challenge.txt') ?? ''
  t.match(token, /^[\w-]+\.[\w-]+\.[\w-]+$/)

  const valid = async (path: string, body: object) =>
    (await call('POST', `${path}/logpush/ownership/validate`, body)).body.result
  const zonePath = `/zones/${ZONE}`
  const proof = { destination_conf: S3, ownership_challenge: token }
  t.strictSame(await valid(zonePath, proof), { valid: true })
  t.strictSame(
    await valid(zonePath, { ...proof, destination_conf: `${S3}&sse=AES256` }),
    { valid: false },
    'all of it counts',
  )
  t.strictSame(await valid(`/zones/${OTHER_ZONE}`, proof), { valid: false }, 'of another zone')
  t.strictSame(await valid(`/accounts/${ACCOUNT}`, proof), { valid: false }, 'of the account')
  const [head, claims, signature = ''] = token.split('.')
  const none = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${claims}.`
  for (const forged of ['', 'a', none, `${head}.${claims}.${signature.replace(/^./, (c) => (c === 'A' ? 'B' : 'A'))}`])
    t.strictSame(await valid(zonePath, { ...proof, ownership_challenge: forged }), { valid: false })

  t.equal((await call('POST', JOBS, proof)).status, 200)
  const keys = `${S3}&access-key-id=AK&secret-access-key=hunter2`
  t.equal((await call('POST', JOBS, { destination_conf: keys })).status, 200, 'none where there are keys')
  t.equal((await call('PUT', `${JOBS}/1`, { name: 'b' })).status, 200, 'none where the destination stays')
  t.match(await call('PUT', `${JOBS}/2`, { destination_conf: `${S3}&sse=AES256` }), wanted)
  t.equal((await call('PUT', `${JOBS}/2`, proof)).status, 200)

  clock.advance(7 * 24 * 3600 * 1000 - 1000)
  t.strictSame(await valid(zonePath, proof), { valid: true })
  clock.advance(2000)
  t.strictSame(await valid(zonePath, proof), { valid: false }, 'after seven days')
})

t.test('an ownership challenge does not contain the credentials of its destination', async (t) => {
  const { call, destinations } = await logpushClient(t)
  const secret = `${S3}&access-key-id=AKIAEXAMPLE&secret-access-key=hunter2`
  await call('POST', `/zones/${ZONE}/logpush/ownership`, { destination_conf: secret })
  const [, claims = ''] = [...destinations.files.values()][0]?.split('.') ?? []
  const read = JSON.parse(Buffer.from(claims, 'base64url').toString()) as Record<string, unknown>
  t.match(read, { object_type: 'zone', object_id: ZONE, destination: /^[0-9a-f]{64}$/, fingerprint: /^[0-9a-f]{64}$/ })
  t.equal(Number(read['exp']) - Number(read['iat']), 7 * 24 * 3600)
  t.notMatch(JSON.stringify(read), /hunter2|AKIA/)
})

t.test('a challenge cannot be asked for where there are no files, or nobody takes them', async (t) => {
  const { call, destinations } = await logpushClient(t)
  const path = `/accounts/${ACCOUNT}/logpush/ownership`
  const refused = { status: 400, body: { errors: [{ code: 1002, source: { pointer: '/destination_conf' } }] } }
  t.match(await call('POST', path, { destination_conf: HTTPS }), refused)
  t.match(await call('POST', path, { destination_conf: 'nowhere' }), refused)
  t.match(await call('POST', path, {}), refused)
  destinations.down.add(S3)
  t.match(await call('POST', path, { destination_conf: S3 }), refused)
})

t.test('destinations and options can be tried out', async (t) => {
  const { call, destinations } = await logpushClient(t)
  const ask = async (what: string, body: object) => await call('POST', `/zones/${ZONE}/logpush/validate/${what}`, body)
  destinations.body = 'got Bearer hunter2, and hunter2 alone'
  t.strictSame((await ask('destination', { destination_conf: HTTPS })).body.result, {
    valid: true,
    message: '',
    edged: { status: 200, body: 'got ***, and *** alone' },
  })
  destinations.down.add(HTTPS)
  t.match((await ask('destination', { destination_conf: HTTPS })).body.result, {
    valid: false,
    message: /responded with 403/,
    edged: { status: 403, body: 'got ***, and *** alone' },
  })
  t.match((await ask('destination', { destination_conf: 'file:///a' })).body.result, {
    valid: true,
    edged: { status: null, body: null },
  })
  destinations.down.delete(HTTPS)
  t.match((await ask('destination', { destination_conf: 'nowhere' })).body.result, { valid: false, message: /scheme/ })
  t.match(await ask('destination', {}), { status: 400, body: { errors: [{ code: 1002 }] } })

  t.strictSame((await ask('destination/exists', { destination_conf: HTTPS })).body.result, { exists: false })
  await call('POST', JOBS, { destination_conf: HTTPS })
  const exists = async (destination_conf: string) => (await ask('destination/exists', { destination_conf })).body.result
  t.strictSame(await exists(HTTPS), { exists: true })
  t.strictSame(await exists(HTTPS.replace('x=1', 'x=2')), { exists: false })
  t.strictSame(
    (await call('POST', `/accounts/${ACCOUNT}/logpush/validate/destination/exists`, { destination_conf: HTTPS })).body
      .result,
    { exists: false },
    'jobs of others are not told',
  )

  const options = 'fields=RayID,ClientIP,EdgeStartTimestamp&timestamps=rfc3339'
  t.strictSame((await ask('origin', { logpull_options: options })).body.result, { valid: true, message: '' })
  t.match((await ask('origin', { logpull_options: 'fields=Nope' })).body.result, { valid: false, message: /Nope/ })
  t.match((await ask('origin', { logpull_options: options, dataset: 'dns_logs' })).body.result, { valid: false })
  t.match(await ask('origin', { logpull_options: options, dataset: 'nope' }), { status: 400 })
  t.match(await ask('origin', {}), { status: 400, body: { errors: [{ source: { pointer: '/logpull_options' } }] } })
})
