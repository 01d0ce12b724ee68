import t from 'tap'
import {
  KINDS,
  parseDestination,
  shownPlace,
  withSecrets,
  writeDestination,
} from '../../ui/src/pages/logs/destination.ts'
import { readFilter, writeFilter } from '../../ui/src/pages/logs/filter.ts'

t.test('the text of a destination is the same after it was split and written', async (t) => {
  for (const text of [
    'https://logs.example.com/in?header_Authorization=Bearer%20a%2Fb&header_x-key=one',
    's3://bucket/logs/{DATE}?region=eu-central-1&access-key-id=A&secret-access-key=a%2Bb%3D',
    'kafka://broker:9092/topic?sasl=plain&username=u&password=p',
    'file:///var/log/edged/{DATE}?gzip=true',
    'loki://user:pass@loki:3100?labels=job%3Dedged',
    'https://logs.example.com/in?unknown=1',
  ])
    t.equal(writeDestination(parseDestination(text)), text, text)
})

t.test('parameters of another kind are left out', async (t) => {
  const s3 = parseDestination('s3://bucket/a?region=eu&sse=AES256')
  t.equal(writeDestination({ ...s3, scheme: 'file', place: '/a' }), 'file:///a')
  t.ok(KINDS.every(({ example }) => !example.includes('://')))
})

t.test('stored secrets replace their mask, and only this', async (t) => {
  const stored = parseDestination('https://a.example/in?header_Authorization=secret&header_x-key=one')
  const given = parseDestination('https://b.example/in?header_Authorization=***&header_x-key=two')
  t.equal(
    writeDestination(withSecrets(given, stored)),
    'https://b.example/in?header_Authorization=secret&header_x-key=two',
  )
  const keys = parseDestination('s3://b/a?region=eu&secret-access-key=s')
  const masked = { ...keys, values: { region: 'us', 'secret-access-key': '***' } }
  t.equal(writeDestination(withSecrets(masked, keys)), 's3://b/a?region=us&secret-access-key=s')
  const account = parseDestination('loki://user:pass@loki:3100')
  t.equal(withSecrets(parseDestination('loki://***@loki:3100'), account).place, 'user:pass@loki:3100')
})

t.test('places in tables have no secrets', async (t) => {
  t.equal(shownPlace('https://u:p@a.example/in?header_x=1'), 'a.example/in')
  t.equal(shownPlace('sumo://collector/receiver/v1/http/TOKEN'), 'sumo collector/…')
  t.equal(shownPlace(undefined), '–')
})

const FIELDS = [
  { name: 'EdgeResponseStatus', type: 'int' },
  { name: 'ClientRequestPath', type: 'string' },
  { name: 'EdgeStartTimestamp', type: 'timestamp' },
  { name: 'WorkerSubrequest', type: 'bool' },
].map((field) => ({ ...field, default: true, deprecated: false, operators: ['eq'] }))

t.test('rows of conditions and the text of a filter follow each other', async (t) => {
  for (const text of [
    '',
    '{"where":{"key":"EdgeResponseStatus","operator":"geq","value":500}}',
    '{"where":{"and":[{"key":"EdgeResponseStatus","operator":"in","value":[403,404]},{"key":"ClientRequestPath","operator":"startsWith","value":"/a"}]}}',
    '{"where":{"or":[{"key":"WorkerSubrequest","operator":"eq","value":true},{"key":"ClientRequestPath","operator":"eq","value":"5"}]}}',
  ])
    t.equal(writeFilter(readFilter(text)!, FIELDS), text, text)
  t.equal(
    writeFilter({ join: 'and', rows: [{ key: 'EdgeResponseStatus', operator: 'eq', value: 'x' }] }, FIELDS),
    '{"where":{"key":"EdgeResponseStatus","operator":"eq","value":"x"}}',
    'the API rejects what is not a number',
  )
})

t.test('filters that rows cannot have stay text', async (t) => {
  for (const text of [
    '{"where":{"and":[{"or":[{"key":"A","operator":"eq","value":1}]}]}}',
    '{"where":{"key":"ClientRequestPath","operator":"in","value":["a,b","c"]}}',
    '{"where":{"key":"EdgeStartTimestamp","operator":"geq","value":1795266000123456789}}',
    '{"where":[]}',
    'no JSON',
    '{}',
  ])
    t.equal(readFilter(text), undefined, text)
})

t.test('numbers that lose digits stay text', async (t) => {
  const value = '1795266000123456789'
  const text = writeFilter({ join: 'and', rows: [{ key: 'EdgeStartTimestamp', operator: 'geq', value }] }, FIELDS)
  t.match(text, value)
})
