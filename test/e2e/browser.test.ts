import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import t from 'tap'
import { testFolder } from '../helpers/folder.js'
import { CA_FILE, tlsFile } from '../helpers/tls.js'
import { originServer } from '../helpers/web.js'
import { configuration, startDaemon, unbuilt } from './daemon.js'

const CHROMIUM = '/usr/bin/chromium'

function missing(): string | false {
  if (!existsSync(CHROMIUM)) return `${CHROMIUM} is not installed`
  return spawnSync('certutil', ['-H']).error ? 'certutil is not installed (Debian: libnss3-tools)' : false
}

/** What a browser says about a page: its lock is closed if it is `secure`. */
interface StateChange {
  readonly visibleSecurityState: { readonly securityState: string }
}

t.test('a page over HTTPS is secure for a browser', { skip: unbuilt || missing() }, async (t) => {
  const origin = await originServer(t, (request, response) => {
    if (request.url === '/script.js')
      response.setHeader('content-type', 'text/javascript').end('document.title = "ran"')
    else
      response
        .setHeader('content-type', 'text/html')
        .end('<!doctype html><h1>Hello</h1><script src=script.js></script>')
  })
  const certificates = [{ cert_file: tlsFile('cert.pem'), key_file: tlsFile('key.pem') }]
  const tls = { listen: '127.0.0.1:0', http2: 'on', certificates }
  const daemon = await startDaemon(t, configuration(origin, { proxy: { tls } }))
  const ready = daemon.lines.find((line) => line.includes('"event":"ready"')) ?? '{}'
  const { proxy_tls: url } = JSON.parse(ready) as { proxy_tls: string }

  // A home with the authorities that this browser trusts.
  const home = testFolder(t)
  const authorities = join(home, '.pki/nssdb')
  mkdirSync(authorities, { recursive: true })
  execFileSync('certutil', ['-d', `sql:${authorities}`, '-N', '--empty-password'])
  execFileSync('certutil', ['-d', `sql:${authorities}`, '-A', '-t', 'C,,', '-n', 'test', '-i', CA_FILE])
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    env: { PATH: process.env['PATH'] ?? '', HOME: home },
  })
  t.teardown(async () => await browser.close())
  const page = await browser.newPage()
  const devTools = await page.context().newCDPSession(page)
  const secure = new Promise<void>((resolve) => {
    devTools.on('Security.visibleSecurityStateChanged', ({ visibleSecurityState }: StateChange) => {
      if (visibleSecurityState.securityState === 'secure') resolve()
    })
  })
  await devTools.send('Security.enable')
  const response = await page.goto(url)
  t.match(await response?.securityDetails(), { issuer: 'Test authority', protocol: 'TLS 1.3' })
  t.equal(await page.title(), 'ran')
  t.equal(await page.evaluate('performance.getEntriesByType("navigation")[0].nextHopProtocol'), 'h2')
  await secure
  t.ok(await page.evaluate('isSecureContext'))
})
