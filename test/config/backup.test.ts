import { resolve } from 'node:path'
import t from 'tap'
import { readConfig } from '../../src/config/load.js'
import { silentLog } from '../../src/core/log.js'
import { systemClock } from '../../src/core/clock.js'
import { destinationChecks } from '../../src/daemon/pipelines/destinations.js'
import { faults } from './setup.js'

const read = (text: string) => readConfig(text, '/etc/edged/f.yaml', {}).backup

t.test('scheduled backups have defaults, and their folder is relative to the file', async (t) => {
  for (const text of ['{}', 'backup:', 'backup: null']) t.equal(read(text), undefined, text)
  const defaults = { every: 86_400_000, keep: 7, with_key: true }
  t.same(read('backup: { to: ./backups }'), { ...defaults, to: '/etc/edged/backups' })
  t.same(read('backup: { to: /var/backups, every: 90m, keep: 2, with_key: false }'), {
    to: '/var/backups',
    every: 5_400_000,
    keep: 2,
    with_key: false,
  })
  const bucket = 's3://b/f?region=eu-central-1'
  t.same(read(`backup: { to: "${bucket}" }`), { ...defaults, to: bucket })
})

t.test('what cannot be a place of backups is reported with its line', async (t) => {
  t.match(faults('backup:\n  every: 24h'), [/^f\.yaml:1:1: backup.*to.*(required|missing)/])
  t.match(faults('backup:\n  every: 10s\n  to: ./b'), [/^f\.yaml:2:3: backup\.every must be from 1m to 366d/])
  t.match(faults('backup:\n  keep: 0\n  to: ./b'), [/^f\.yaml:2:3: backup\.keep must be at least 1/])
  for (const to of ['./data', './data/backups', './data/../data/x'])
    t.match(faults(`backup:\n  to: ${to}`), [
      new RegExp(
        `^f\\.yaml:2:3: backup\\.to is inside the data folder ${resolve('data')}; name a folder outside of it`,
      ),
    ])
  t.same(faults('backup:\n  to: ./data-backups'), [], 'a folder beside it')
  t.match(faults(`backup:\n  to: ${import.meta.filename}`), [/^f\.yaml:2:3: backup\.to is not a folder: /])
  for (const to of ['https://example.com/x', 'gs://bucket', 'file:///x'])
    t.match(faults(`backup:\n  to: "${to}"`), [/^f\.yaml:2:3: backup\.to must be a folder or s3:\/\/BUCKET\/FOLDER/])
  t.match(faults('backup:\n  to: "s3://b/{DATE}?region=r"'), [/^f\.yaml:2:3: backup\.to must not have a placeholder/])
  t.match(faults('backup:\n  to: ./b\n  times: 2'), [/times/])

  const checks = destinationChecks({ clock: systemClock, log: silentLog })
  const checked = (to: string): string => {
    try {
      readConfig(`backup:\n  to: "${to}"`, 'f.yaml', {}, checks)
      return ''
    } catch (error) {
      return (error as Error).message
    }
  }
  t.match(checked('s3://b/f'), /^f\.yaml:2:3: backup\.to .*region/)
  t.match(checked('s3://b/f?region=eu-central-1&access-key-id=a'), /^f\.yaml:2:3: backup\.to .*secret-access-key/)
  t.equal(checked('s3://b/f?region=eu-central-1'), '')
  t.equal(checked('s3://b/f?region=r1&access-key-id=a&secret-access-key=b&endpoint=http://10.0.0.1:9000'), '')
})
