import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { dnsRecord, programIssue, runDnsCommand } from '../../src/tls/acme/dns-command.js'
import { testFolder } from '../helpers/folder.js'
import { until } from '../helpers/web.js'

const RECORD = { name: '_acme-challenge.example.com', value: 'VALUE' }
const sh = (script: string) => ['/bin/sh', '-c', script, 'hook']

t.test('the record is that of RFC 8555, 8.4, the same name for a host and its wildcard', (t) => {
  // base64url(SHA-256("token.thumbprint"))
  t.same(dnsRecord('*.example.com', 'token.thumbprint'), {
    name: '_acme-challenge.example.com',
    value: '61rBZ_4knHblO0MNoxFsXZ_eTFUHum0B6IVRbhvUn5I',
  })
  t.same(dnsRecord('example.com', 'token.thumbprint'), dnsRecord('*.example.com', 'token.thumbprint'))
  t.end()
})

t.test('a command gets action, name and value after its own arguments', async (t) => {
  const folder = testFolder(t)
  await runDnsCommand(sh(`echo "$@" > ${join(folder, 'got')}`), 'present', RECORD)
  t.equal(readFileSync(join(folder, 'got'), 'utf8'), 'present _acme-challenge.example.com VALUE\n')
})

t.test('a command that fails is named, with its exit code and the end of its output', async (t) => {
  await t.rejects(runDnsCommand(sh('echo no such zone >&2; exit 3'), 'cleanup', RECORD), {
    message: '/bin/sh cleanup _acme-challenge.example.com ended with exit code 3: no such zone',
  })
  await t.rejects(runDnsCommand(['/nowhere/hook'], 'present', RECORD), {
    message: /^\/nowhere\/hook cannot be started: /,
  })
  const long = runDnsCommand(sh('yes | head -c 1000000; printf "\\033[2J" >&2; exit 1'), 'present', RECORD)
  const error = await long.catch((one: Error) => one)
  t.ok((error as Error).message.length < 500, 'the output is bounded')
  t.match((error as Error).message, /\\u001b/, 'control characters are escaped')
})

t.test('a command that takes too long is ended with all that it has started', async (t) => {
  const folder = testFolder(t)
  const pidFile = join(folder, 'pid')
  const script = `trap '' TERM; sleep 600 & echo $! > ${pidFile}.new; mv ${pidFile}.new ${pidFile}; wait; sleep 600`
  const running = runDnsCommand(sh(script), 'present', RECORD, { timeoutMs: 2000 })
  await t.rejects(running, { message: /present _acme-challenge.example.com did not exit within 2 s and was ended/ })
  t.ok(existsSync(pidFile))
  const pid = Number(readFileSync(pidFile, 'utf8'))
  await until(() => !isRunning(pid))
  t.pass('its child has ended')

  const stopping = new AbortController()
  const stopped = runDnsCommand(sh('sleep 600'), 'present', RECORD, { signal: stopping.signal })
  stopping.abort()
  await t.rejects(stopped, { message: /was ended because the daemon stops/ })
})

t.test('programs are checked before they are needed', (t) => {
  const folder = testFolder(t)
  const file = join(folder, 'hook')
  writeFileSync(file, '#!/bin/sh\n')
  t.match(programIssue(file), /is not executable; run chmod \+x on it/)
  chmodSync(file, 0o755)
  t.equal(programIssue(file), undefined)
  t.match(programIssue(folder), /is not a file/)
  t.match(programIssue(join(folder, 'none')), /none: /)
  t.equal(programIssue('sh'), undefined)
  t.match(programIssue('no-such-program-here'), /is not in PATH/)
  t.end()
})

/** Returns whether a process runs. One that waits for its parent to take its exit code has ended. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}
