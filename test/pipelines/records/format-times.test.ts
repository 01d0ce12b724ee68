import t from 'tap'
import { type TimestampFormat } from '../../../pipelines/records/index.js'
import { csv, named, names, written } from './helper.js'

const NS = '1506702504433000200'
const FORMATS: readonly TimestampFormat[] = ['unixnano', 'unix', 'rfc3339', 'rfc3339ms', 'rfc3339ns']
/** What a value reads as in each of the formats. */
const TIMES: [value: string, ...want: [string, string, string, string, string]][] = [
  [NS, NS, '1506702504', '"2017-09-29T16:28:24Z"', '"2017-09-29T16:28:24.433Z"', '"2017-09-29T16:28:24.433000200Z"'],
  [
    '1506702504433999',
    '1506702504433999000',
    '1506702504',
    '"2017-09-29T16:28:24Z"',
    '"2017-09-29T16:28:24.433Z"',
    '"2017-09-29T16:28:24.433999000Z"',
  ],
  [
    '1506702504999',
    '1506702504999000000',
    '1506702504',
    '"2017-09-29T16:28:24Z"',
    '"2017-09-29T16:28:24.999Z"',
    '"2017-09-29T16:28:24.999000000Z"',
  ],
  [
    '1506702504',
    '1506702504000000000',
    '1506702504',
    '"2017-09-29T16:28:24Z"',
    '"2017-09-29T16:28:24.000Z"',
    '"2017-09-29T16:28:24.000000000Z"',
  ],
  [
    '1506702504.4330002009',
    NS,
    '1506702504',
    '"2017-09-29T16:28:24Z"',
    '"2017-09-29T16:28:24.433Z"',
    '"2017-09-29T16:28:24.433000200Z"',
  ],
  [
    `"${NS}"`,
    NS,
    '1506702504',
    '"2017-09-29T16:28:24Z"',
    '"2017-09-29T16:28:24.433Z"',
    '"2017-09-29T16:28:24.433000200Z"',
  ],
  [
    '"2017-09-29T16:28:24Z"',
    '1506702504000000000',
    '1506702504',
    '"2017-09-29T16:28:24Z"',
    '"2017-09-29T16:28:24.000Z"',
    '"2017-09-29T16:28:24.000000000Z"',
  ],
  [
    '"2017-09-29t18:28:24.4330002009+02:00"',
    NS,
    '1506702504',
    '"2017-09-29T16:28:24Z"',
    '"2017-09-29T16:28:24.433Z"',
    '"2017-09-29T16:28:24.433000200Z"',
  ],
  [
    '"2016-02-29T23:59:60-00:30"',
    '1456792200000000000',
    '1456792200',
    '"2016-03-01T00:30:00Z"',
    '"2016-03-01T00:30:00.000Z"',
    '"2016-03-01T00:30:00.000000000Z"',
  ],
  ['0', '0', '0', '"1970-01-01T00:00:00Z"', '"1970-01-01T00:00:00.000Z"', '"1970-01-01T00:00:00.000000000Z"'],
  [
    '-1',
    '-1000000000',
    '-1',
    '"1969-12-31T23:59:59Z"',
    '"1969-12-31T23:59:59.000Z"',
    '"1969-12-31T23:59:59.000000000Z"',
  ],
  [
    '-0.25',
    '-250000000',
    '-1',
    '"1969-12-31T23:59:59Z"',
    '"1969-12-31T23:59:59.750Z"',
    '"1969-12-31T23:59:59.750000000Z"',
  ],
  [
    '"1970-01-01T00:00:00.000000007Z"',
    '7',
    '0',
    '"1970-01-01T00:00:00Z"',
    '"1970-01-01T00:00:00.000Z"',
    '"1970-01-01T00:00:00.000000007Z"',
  ],
  [
    '18446744073709551615',
    '18446744073709551615',
    '18446744073',
    '"2554-07-21T23:34:33Z"',
    '"2554-07-21T23:34:33.709Z"',
    '"2554-07-21T23:34:33.709551615Z"',
  ],
  [
    '"0000-01-01T00:00:00Z"',
    '-62167219200000000000',
    '-62167219200',
    '"0000-01-01T00:00:00Z"',
    '"0000-01-01T00:00:00.000Z"',
    '"0000-01-01T00:00:00.000000000Z"',
  ],
  [
    '"9999-12-31T23:59:59.9Z"',
    '253402300799900000000',
    '253402300799',
    '"9999-12-31T23:59:59Z"',
    '"9999-12-31T23:59:59.900Z"',
    '"9999-12-31T23:59:59.900000000Z"',
  ],
  ['null', 'null', 'null', 'null', 'null', 'null'],
]
for (const [value, ...want] of TIMES) {
  for (const [index, timestamp_format] of FORMATS.entries()) {
    t.test(`${value} as ${timestamp_format}`, async (t) => {
      const options = { ...names('EdgeStartTimestamp'), timestamp_format, record_template: '{{.EdgeStartTimestamp}}' }
      t.equal(written(options, [`{"EdgeStartTimestamp":${value}}`]), `{${want[index]}}\n`)
    })
  }
}

t.test('times in csv are quoted if they are text', async (t) => {
  const WANT = [
    NS,
    '1506702504',
    '"2017-09-29T16:28:24Z"',
    '"2017-09-29T16:28:24.433Z"',
    '"2017-09-29T16:28:24.433000200Z"',
  ]
  for (const [index, timestamp_format] of FORMATS.entries())
    for (const value of [NS, `"${NS}"`, '"2017-09-29T16:28:24.4330002Z"'])
      t.equal(
        written({ ...csv('EdgeStartTimestamp'), timestamp_format }, [`{"EdgeStartTimestamp":${value}}`]),
        `${WANT[index]}\n`,
        `${value} as ${timestamp_format}`,
      )
})

/** No times, or none that RFC 3339 can write: they stay what they are. */
const NO_TIMES = ['"soon"', '""', 'true', '"2017-02-29T00:00:00Z"', '"2017-13-01T00:00:00Z"', '"2017-01-01"']
NO_TIMES.push(
  '"2017-01-01T24:00:00Z"',
  '123456789012345678901',
  '1e18',
  '-99999999999',
  '{"a":1}',
  `"${'1'.repeat(5000)}"`,
)
NO_TIMES.push('"2017-01-01T00:00:00"', '"2017-01-01T00:00:00.Z"', '"1900-02-29T00:00:00Z"', '"1."', '"12-45-789"')
for (const value of NO_TIMES) {
  t.test(`${value.slice(0, 30)} is not a time and stays as it is`, async (t) => {
    const options = { ...names('EdgeStartTimestamp'), timestamp_format: 'rfc3339' }
    t.equal(written(options, [`{"EdgeStartTimestamp":${value}}`]), `{"EdgeStartTimestamp":${value}}\n`)
  })
}

t.test('a time and a number of other datasets', async (t) => {
  const options = { field_names: ['EventTimestampMs'], timestamp_format: 'rfc3339' }
  const line = '{"EventTimestampMs":1506702504433}'
  t.equal(written(options, [line], named('workers_trace_events')), `${line}\n`)
})
