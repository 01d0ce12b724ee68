import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import {
  attackTest,
  compileFilter,
  compileFormat,
  compileTemplate,
  DATASETS,
  MalformedRecord,
  sampler,
  Scanner,
} from '../../../../pipelines/records/index.js'
import { httpRequests, named, scannedText } from '../helper.js'

const fixture = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../../fixtures/${name}`, import.meta.url), 'utf8')) as unknown

t.test('every documented dataset exists with its fields', async (t) => {
  const documented = fixture('datasets.json') as Record<string, { scope: string; fields: Record<string, string> }>
  for (const [name, { scope, fields }] of Object.entries(documented)) {
    const { Subrequests, ...others } = named(name).fields
    // Columns of edged itself begin with its name.
    const published = Object.fromEntries(Object.entries(others).filter(([column]) => !column.startsWith('edged_')))
    t.strictSame(published, fields, name)
    t.equal(Subrequests, name === 'http_requests' ? 'array[object]' : undefined, name)
    t.equal(named(name).scopes[0], scope, name)
  }
})

t.test('what a dataset says names its own fields', async (t) => {
  for (const dataset of DATASETS.values()) {
    const { clock, defaults, deprecated = [], unfilterable = [] } = dataset
    for (const name of [clock, ...defaults, ...deprecated, ...unfilterable])
      t.ok(dataset.places.has(name), `${dataset.name} ${name}`)
    t.notOk(
      defaults.some((name) => deprecated.includes(name)),
      `${dataset.name} has no deprecated field as a default`,
    )
    compileFormat(dataset)
  }
})

t.test('attack traffic', async (t) => {
  const ATTACKS = {
    http_requests: ['{"SecuritySources":["waf","l7ddos"]}', '{"SecuritySources":["waf"]}', '{"SecuritySources":null}'],
    firewall_events: ['{"Source":"l7ddos"}', '{"Source":"waf"}', '{}'],
    network_analytics_logs: ['{"AttackID":"a1"}', '{"AttackID":""}', '{}'],
  }
  for (const dataset of DATASETS.values()) {
    const marked = attackTest(dataset)
    const lines = ATTACKS[dataset.name as keyof typeof ATTACKS] as string[] | undefined
    t.equal(marked === undefined, lines === undefined, dataset.name)
    const scanner = new Scanner(dataset)
    for (const [index, line] of (lines ?? []).entries())
      t.equal(marked?.(scanner.scan(Buffer.from(line))), index === 0, `${dataset.name} ${line}`)
  }
})

t.test('values stay the bytes that they were', async (t) => {
  for (const text of ['1506702504433000200', '18446744073709551615', '1e21', '0.1', '-0', '1E+2', '"a\\u0041"', 'null'])
    t.equal(scannedText(`{"BotScore":${text}}`, 'BotScore'), text)
  t.equal(scannedText('{"RequestHeaders": {"a" : [1, {}]} }', 'RequestHeaders'), '{"a" : [1, {}]}')
})

t.test('of members with the same key the last counts', async (t) => {
  t.equal(scannedText('{"RayID":"a","RayID":"b"}', 'RayID'), '"b"')
  t.equal(scannedText('{"RayID":"a","Ray\\u0049D":"b"}', 'RayID'), '"b"')
  t.equal(scannedText('{"RayID":"a","RequestHeaders":{"RayID":"b"}}', 'RayID'), '"a"')
})

t.test('one scanner reads records of any shape after each other', async (t) => {
  const scanner = new Scanner(httpRequests)
  const place = httpRequests.places.get('RayID') ?? -1
  const LINES: [line: string, want: string | undefined][] = [
    ['{"ClientIP":"1","RayID":"a"}', '"a"'],
    ['{"ClientIP":"1","RayID":"b"}', '"b"'],
    ['{"RayID":"c","ClientIP":"1"}', '"c"'],
    ['{"ClientIP":"1","RayIDs":"d"}', undefined],
    ['{"ClientIP":"1","RayI":"d"}', undefined],
    ['{}', undefined],
    [' {\t"RayID" :\r\n"e" , "x" : [ ] } ', '"e"'],
  ]
  for (const [line, want] of LINES) {
    const { bytes, starts, ends } = scanner.scan(Buffer.from(`??${line}??`), 2, 2 + line.length)
    const text = starts[place]! < 0 ? undefined : Buffer.from(bytes.subarray(starts[place], ends[place])).toString()
    t.equal(text, want, line)
  }
})

const MALFORMED: [line: string, position: number][] = [
  ['', 0],
  ['  ', 2],
  ['[]', 0],
  ['"a"', 0],
  ['null', 0],
  ['{', 1],
  ['{"RayID"', 8],
  ['{"RayID":', 9],
  ['{"RayID":"a', 11],
  ['{"RayID', 7],
  ['{"RayID":"a"', 12],
  ['{"RayID":"a",', 13],
  ['{"RayID":"a",}', 13],
  ['{"RayID":"a"}x', 13],
  ['{"RayID":"a"}{}', 13],
  ['{"RayID":"a" "b":1}', 13],
  ['{"RayID" "a"}', 9],
  ['{RayID:1}', 1],
  ["{'a':1}", 1],
  ['{"a":01}', 6],
  ['{"a":1.}', 7],
  ['{"a":.5}', 5],
  ['{"a":1e}', 7],
  ['{"a":1e+}', 8],
  ['{"a":+1}', 5],
  ['{"a":-}', 6],
  ['{"a":NaN}', 5],
  ['{"a":tru}', 5],
  ['{"a":nul', 5],
  ['{"a":truE}', 5],
  ['{"a":"\t"}', 6],
  ['{"a":"\\x"}', 6],
  ['{"a":"\\u12g4"}', 8],
  ['{"a":"\\u12', 10],
  ['{"a":"\\', 6],
  ['{"a":[1,]}', 8],
  ['{"a":[1 2]}', 8],
  ['{"a":[', 6],
  ['{"a":{"b"}}', 9],
  ['{"a":{"b":1,}}', 12],
  ['{"a":[1}}', 7],
  ['{"a":1]', 6],
  ['{"a":1,,"b":2}', 7],
  ['{"a":\u00a01}', 5],
  ['\ufeff{}', 0],
]
t.test('a malformed record is refused, with the place', async (t) => {
  for (const [line, position] of MALFORMED) {
    t.throws(() => scannedText(line, 'RayID'), { name: 'MalformedRecord', position }, line)
    // What stands behind the record in the buffer must not complete it.
    const around = Buffer.from(`  ${line}"}]}:1,{"RayID":"a"}`)
    const end = 2 + Buffer.byteLength(line)
    t.throws(
      () => new Scanner(httpRequests).scan(around, 2, end),
      { name: 'MalformedRecord', position },
      `${line} inside of a buffer`,
    )
  }
})

t.test('bytes after the end of a record are ignored', async (t) => {
  const line = Buffer.from(
    '{"RayID":"a\\"bcdefgh","ClientIP":"192.0.2.1","EdgeResponseStatus":404,"Cookies":{"a":[1]}}',
  )
  const scanner = new Scanner(httpRequests)
  for (let end = 0; end < line.length; end++) {
    scanner.scan(line)
    try {
      scanner.scan(line, 0, end)
      t.fail('a part of a record is no record', { end })
    } catch (error) {
      const { position } = error as MalformedRecord
      if (!(error instanceof MalformedRecord) || position > end) t.fail('it is refused there', { end, error })
    }
  }
  for (const [whole, first] of [
    ['x\u0019yz1234', 1],
    ['1234\u0000', 4],
    ['1234567\t', 7],
  ] as const)
    t.throws(() => scanner.scan(Buffer.from(`{"RayID":"${whole}"}`)), { message: new RegExp(`byte ${10 + first}`) })
})

t.test('bytes that are not UTF-8 are refused', async (t) => {
  for (const bytes of [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0x80], [0xf4, 0x90, 0x80, 0x80]]) {
    const line = Buffer.concat([Buffer.from('{"x":"'), Buffer.from(bytes), Buffer.from('"}')])
    t.throws(() => scannedText(line, 'RayID'), MalformedRecord)
  }
})

t.test('depth is bounded', async (t) => {
  const nested = (depth: number) => `{"RequestHeaders":${'['.repeat(depth)}${']'.repeat(depth)}}`
  t.equal(scannedText(nested(63), 'RequestHeaders')?.length, 126)
  t.throws(() => scannedText(nested(64), 'RequestHeaders'), /more than 64 levels/)
  t.throws(() => scannedText(`{"a":${'{"a":'.repeat(1_000_000)}`, 'RayID'), /more than 64 levels/)
})

t.test('a scan and JSON.parse say the same of any JSON', async () => {
  const keys = fc.constantFrom('RayID', 'ClientIP', 'RequestHeaders', '', '__proto__', 'Ray"ID', 'é')
  fc.assert(
    fc.property(fc.array(fc.tuple(keys, fc.json({ maxDepth: 4 }))), fc.nat(3), (members, indent) => {
      const object = `{${members.map(([key, json]) => `${JSON.stringify(key)}:${json}`).join(',')}}`
      const line = indent > 0 ? JSON.stringify(JSON.parse(object), undefined, indent) : object
      const parsed = JSON.parse(line) as Record<string, unknown>
      return ['RayID', 'ClientIP', 'RequestHeaders'].every((name) => {
        const text = scannedText(line, name)
        return text === undefined
          ? !(name in parsed)
          : JSON.stringify(JSON.parse(text)) === JSON.stringify(parsed[name])
      })
    }),
    { numRuns: 300 },
  )
})

t.test('a scan refuses what JSON.parse refuses', async () => {
  const base = '{"RayID":"a\\u00e9\\n","x":[1.5e-3,true,null,{"y":[]}],"BotScore":-0.5}'
  const char = fc.constantFrom(...'{}[]:,"\\ue0.-+1tfn \t\né'.split(''))
  fc.assert(
    fc.property(fc.nat(base.length - 1), fc.nat(2), char, (at, removed, inserted) => {
      const line = base.slice(0, at) + inserted + base.slice(at + removed)
      const accepts = (read: () => unknown) => {
        try {
          read()
          return true
        } catch {
          return false
        }
      }
      return accepts(() => JSON.parse(line)) === accepts(() => scannedText(line, 'RayID'))
    }),
    { numRuns: 3000 },
  )
})

t.test('sampling depends on the seed and the position alone, and keeps its share', async (t) => {
  const kept = (rate: number, seed: string, from = 0) => {
    const keeps = sampler(rate, seed)
    return Array.from({ length: 20_000 }, (_, index) => keeps(from + index))
  }
  t.strictSame(kept(0.3, 'job 1'), kept(0.3, 'job 1'))
  t.notSame(kept(0.3, 'job 1'), kept(0.3, 'job 2'))
  t.ok(kept(1, 'job 1').every(Boolean))
  for (const rate of [0.01, 0.1, 0.5, 0.9]) {
    for (const from of [0, 2 ** 32 - 10_000, 2 ** 45]) {
      const count = kept(rate, 'job 1', from).filter(Boolean).length
      const deviation = Math.sqrt(rate * (1 - rate) * 20_000)
      t.ok(Math.abs(count - rate * 20_000) < 5 * deviation, `${count} of 20000 at ${rate} from ${from}`)
    }
  }
})

t.test('templates print what Go prints', async (t) => {
  const { fields, cases } = fixture('template-cases.json') as {
    fields: Record<string, string>
    cases: { name: string; template: string; want?: string }[]
  }
  const texts = new Map(Object.entries(fields))
  for (const { name, template, want } of cases) {
    if (want === undefined) t.throws(() => compileTemplate(template), { name: 'TemplateError' }, name)
    else t.equal(compileTemplate(template)(texts), want, name)
  }
  for (const escape of ['\\ud800', '\\U00110000', '\\400', '\\x1', '\\u12', '\\7'])
    t.throws(() => compileTemplate(`{{"${escape}"}}`), /character 3/, escape)
  t.equal(compileTemplate('{{`a\r\nb`}}{{"\\101\\x42\\a"}}')(texts), 'a\nbAB\x07')
})

t.test('hostile templates and filters are read in time that grows with their length', async (t) => {
  const spaces = ' '.repeat(60_000)
  t.equal(compileTemplate(`${spaces}x{{- "a" -}}${spaces}`)(new Map()), `${spaces}xa`)
  t.throws(() => compileTemplate(`{{${spaces}`), /character/)
  t.throws(() => compileTemplate('{{/*'.repeat(15_000)), /no end/)
  t.throws(() => compileTemplate(`{{"${'\\\\'.repeat(30_000)}`), /character/)
  t.throws(() => compileFilter(httpRequests, '['.repeat(100_000)), /at most 1000 bytes/)
})
