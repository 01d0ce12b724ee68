import t from 'tap'
import { testFolder } from '../helpers/folder.js'
import { ACCOUNT, liveDaemon, until, ZONE } from '../helpers/live-daemon.js'

const READER = 'reader-token-0123456789-abcdefghijklmno'

t.test('settings are listed by topic, with texts, defaults and their source', async (t) => {
  const live = await liveDaemon(t, testFolder(t), {
    zone: { settings: { content_converter: 'on', min_tls_version: '1.3' } },
  })
  t.equal((await live.call('PATCH', `/zones/${ZONE}/settings/cache_level`, { value: 'basic' })).status, 200)
  const { result } = (await live.call('GET', `/zones/${ZONE}/edged/settings`)).body
  const known = (await live.call('GET', `/zones/${ZONE}/settings`)).body.result
  t.equal(result.length, known.length)
  const byId = new Map<string, { id: string; title: string; description: string; topic: string; acts: boolean }>(
    result.map((one: { id: string }) => [one.id, one]),
  )
  for (const { id } of known) {
    const shown = byId.get(id)
    t.ok(shown?.title !== id && shown!.description.length > 10, `${id} has a text`)
  }
  t.match(byId.get('content_converter'), {
    topic: 'Markdown',
    title: 'Markdown for agents',
    default: 'on',
    value: 'on',
    values: ['on', 'off'],
    type: 'switch',
    acts: true,
    editable: true,
    source: 'file',
  })
  t.match(byId.get('cache_level'), { default: 'aggressive', value: 'basic', type: 'choice', source: 'api' })
  t.match(byId.get('min_tls_version'), { value: '1.3', source: 'file', topic: 'HTTPS' })
  t.match(byId.get('polish'), { acts: false, source: 'default' })
  t.match(byId.get('browser_cache_ttl'), { type: 'number', values: null })
  for (const id of ['always_use_https', 'http2', 'websockets'])
    t.match(byId.get(id), { type: 'switch', values: ['on', 'off'] }, id)
  const topics = result.map(({ topic }: { topic: string }) => topic)
  t.strictSame(
    topics,
    [...topics].sort((a, b) => topics.indexOf(a) - topics.indexOf(b)),
    'topics are in one piece',
  )
})

t.test('a token learns what it may do, and when it was used is known', async (t) => {
  const live = await liveDaemon(t, testFolder(t), {
    tokens: [
      {
        name: 'admin',
        token: 'admin-token-0123456789-abcdefghijklmnop',
        permissions: ['*'],
        accounts: ['*'],
        zones: ['*'],
      },
      { name: 'reader', token: READER, permissions: ['Logs Read', 'Zone Read'], accounts: [ACCOUNT], zones: [] },
    ],
  })
  t.strictSame((await live.call('GET', '/user/edged/permissions')).body.result, {
    accounts: [{ id: ACCOUNT, groups: ['*'] }],
    zones: [{ id: ZONE, groups: ['*'] }],
    token: { name: 'admin', expires_on: null },
  })
  const narrow = (await live.call('GET', '/user/edged/permissions', undefined, READER)).body.result
  t.strictSame(
    { ...narrow, accounts: narrow.accounts.map(({ groups }: { groups: string[] }) => groups.sort()) },
    {
      accounts: [['Logs Read', 'Zone Read']],
      zones: [],
      token: { name: 'reader', expires_on: null },
    },
  )
  const expires = '2999-01-01T00:00:00Z'
  const made = await live.call('POST', '/user/tokens', {
    name: 'ci',
    expires_on: expires,
    policies: [
      {
        effect: 'allow',
        permission_groups: (await live.call('GET', '/user/tokens/permission_groups')).body.result
          .filter(({ name }: { name: string }) => name === 'Zone Read')
          .map(({ id }: { id: string }) => ({ id })),
        resources: { [`com.cloudflare.api.account.zone.${ZONE}`]: '*' },
      },
    ],
  })
  t.equal(made.status, 200, JSON.stringify(made.body.errors))
  const { id, value } = made.body.result
  const token = async () => (await live.call('GET', `/user/tokens/${id}`)).body.result
  t.equal((await token()).last_used_on, undefined)
  t.strictSame((await live.call('GET', '/user/edged/permissions', undefined, value)).body.result, {
    accounts: [],
    zones: [{ id: ZONE, groups: ['Zone Read'] }],
    token: { name: 'ci', expires_on: expires },
  })
  t.match(await until(async () => (await token()).last_used_on as string | undefined), /^2/)
  t.equal((await live.call('DELETE', `/user/tokens/${id}`)).status, 200)
})
