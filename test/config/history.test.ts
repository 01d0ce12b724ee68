import addFormats from 'ajv-formats'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { forEditors } from '../../src/config/editor-schema.js'
import { readConfig } from '../../src/config/load.js'
import { ConfigFile } from '../../src/config/schema.js'
import { faults } from './setup.js'

const read = (text: string) => readConfig(text, 'f.yaml', {}).history

t.test('the history has defaults, and null is the same as no section', async (t) => {
  const byDefault = { days: 30, bytes: 512_000_000, requests: 100_000, queries: false, anonymise: false }
  for (const text of ['{}', 'history:', 'history: null', 'history: {}']) t.same(read(text), byDefault, text)
  t.same(read('history: { days: 7, bytes: 1GB, requests: 10000, queries: false, anonymise: true }'), {
    days: 7,
    bytes: 1e9,
    requests: 10_000,
    queries: false,
    anonymise: true,
  })
})

t.test('false keeps nothing, also for editors', async (t) => {
  t.match(read('history: false'), { days: 0, requests: 0 })
  const check = addFormats.default(new Ajv2020({ strict: false })).compile(forEditors(ConfigFile))
  for (const history of [false, null, { days: 0 }]) t.ok(check({ history }), JSON.stringify(history))
  for (const history of [true, 'off', { days: -1 }]) t.notOk(check({ history }), JSON.stringify(history))
})

t.test('other values are reported at their place', async (t) => {
  t.match(faults('history: true'), [/^f\.yaml:1:1: history must be an object/])
  t.match(faults('history:\n  days: 401'), [/^f\.yaml:2:3: history\.days must be at most 400/])
  t.match(faults('history:\n  days: 1.5'), [/^f\.yaml:2:3: history\.days must be an integer/])
  t.match(faults('history:\n  bytes: 512'), [/^f\.yaml:2:3: history\.bytes must be a number with a unit/])
  t.match(faults('history:\n  requests: -1'), [/^f\.yaml:2:3: history\.requests must/])
  t.match(faults('cache: false'), [/^f\.yaml:1:1: cache must be an object/])
})
