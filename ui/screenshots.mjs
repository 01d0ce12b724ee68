/**
 * Writes docs/screenshots: each page of the dashboard over a daemon with something in every area. `--all FOLDER` writes all
 * sizes and themes to another folder. Needs a build, openssl and Chromium (CHROMIUM names another one).
 */
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { chromium } from 'playwright-core'
import { ACCOUNT, lively, TOKEN } from './lively.mjs'

const ALL = process.argv[2] === '--all' ? resolve(process.argv[3]) : undefined
const TARGET = ALL ?? join(import.meta.dirname, '../docs/screenshots')
const MAX_BYTES = 3_000_000
const WIDTHS = { 390: 844, 1280: 800, 1440: 900 }
const THEMES = ['light', 'dark']
/** The plots have a point every 10 s. */
const TRAFFIC_MS = Number(process.env.TRAFFIC_MS ?? 120_000)
const SETTLE_MS = 400
const WAIT_MS = 15_000

const zone = (page) => `z/example.test/${page}`
const account = (page) => `a/${ACCOUNT}/${page}`

/** Names of files, with the address of the page and a click that opens something. A new page is a row. */
const PAGES = [
  { name: 'overview', path: zone('overview?range=15m') },
  { name: 'overview-all', path: account('overview?range=15m') },
  { name: 'requests', path: zone('requests?live=off') },
  { name: 'request', path: zone('requests?live=off&status=403'), row: true },
  { name: 'agents', path: zone('agents?range=15m') },
  { name: 'agent', path: zone('agents/GPTBot?range=15m') },
  { name: 'rules', path: zone('rules') },
  { name: 'rule', path: zone('rules/http_request_firewall_custom'), row: true },
  { name: 'markdown', path: zone('markdown?url=/signals.html') },
  { name: 'cache', path: zone('cache') },
  { name: 'certificates', path: zone('certificates') },
  { name: 'settings', path: zone('settings') },
  { name: 'hostnames', path: zone('hostnames') },
  { name: 'origins', path: zone('origins') },
  { name: 'workers', path: account('workers') },
  { name: 'worker', path: account('workers/hello') },
  { name: 'logs', path: account('logs') },
  { name: 'log', path: account('logs'), row: true },
  { name: 'pipelines', path: account('pipelines') },
  { name: 'webhooks', path: account('webhooks') },
  { name: 'webhook', path: account('webhooks'), row: true },
  { name: 'findings', path: account('findings') },
  { name: 'zones', path: account('zones') },
  { name: 'lists', path: account('lists') },
  { name: 'tokens', path: account('tokens') },
  { name: 'audit', path: account('audit') },
]

/** Pages whose dark form, and whose form on a phone, is in the documentation. */
const DARK = new Set(['overview', 'requests', 'rules'])
const ON_PHONES = new Set(['overview', 'requests', 'agents', 'rules', 'logs', 'webhooks'])
/** Sizes and themes of a page: all, or only the ones that the documentation shows. */
const isWanted = (name, width, theme) =>
  ALL !== undefined ||
  (width === 390 && theme === 'light' && ON_PHONES.has(name)) ||
  (width === 1280 && (theme === 'light' || DARK.has(name)))

const daemon = await lively({ trafficMs: TRAFFIC_MS })
try {
  await shoot()
} finally {
  await daemon.stop()
}

async function shoot() {
  if (!ALL) rmSync(TARGET, { recursive: true, force: true })
  mkdirSync(TARGET, { recursive: true })
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox'],
  })
  try {
    for (const [width, height] of Object.entries(WIDTHS))
      for (const colorScheme of THEMES) await shootAll(browser, { width: Number(width), height }, colorScheme)
  } finally {
    await browser.close()
  }
  const files = readdirSync(TARGET)
  const bytes = files.reduce((sum, file) => sum + statSync(join(TARGET, file)).size, 0)
  console.log(`${files.length} files, ${bytes} bytes in ${TARGET}`)
  if (!ALL && bytes > MAX_BYTES) throw new Error(`more than ${MAX_BYTES} bytes`)
}

async function shootAll(browser, viewport, colorScheme) {
  const pages = PAGES.filter(({ name }) => isWanted(name, viewport.width, colorScheme))
  if (pages.length === 0) return
  const page = await browser.newPage({ viewport, colorScheme, reducedMotion: 'reduce' })
  await page.goto(daemon.ui)
  await page.getByRole('checkbox').check()
  await page.getByLabel('API token').fill(TOKEN)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  for (const { name, path, row } of pages) {
    await page.goto(daemon.ui + path)
    await settled(page)
    if (row) await openRow(page, name)
    await page.screenshot({ path: join(TARGET, `${name}-${viewport.width}-${colorScheme}.png`) })
  }
  await page.close()
}

/** Waits until the page has read its data. */
async function settled(page) {
  await page.locator('main h1').first().waitFor()
  await page.waitForLoadState('networkidle', { timeout: WAIT_MS }).catch(() => undefined)
  const loading = page.locator('[role=status][aria-label^="Loading"]')
  await loading
    .first()
    .waitFor({ state: 'detached', timeout: WAIT_MS })
    .catch(() => undefined)
  await page.waitForTimeout(SETTLE_MS)
}

/** Opens the first row of the table. */
async function openRow(page, name) {
  const rows = page.locator('main tr[data-row]')
  if ((await rows.count()) === 0) return console.warn(`${name}: no row to open`)
  // A click could hit a control of the row.
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await settled(page)
}
