import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { convert } from '../../pipelines/markdown/index.js'
import { unbuilt } from './daemon.js'

const run = promisify(execFile)
const ROOT = process.cwd()

/** Packs `edged/markdown` into a folder, and returns the file. */
async function packMarkdown(folder: string): Promise<string> {
  const { stdout } = await run(process.execPath, [join(ROOT, 'packages/markdown.mjs'), folder])
  t.match(stdout, /^(.+\.tgz): \d+ bytes, \d+ unpacked in \d+ files, no dependencies$/m)
  return /^(.+\.tgz): /m.exec(stdout)![1]!
}

/** A folder outside of this repository: no module of it can be found from there. */
function folderOf(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'edged-packages-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  return folder
}

t.test(
  'edged/markdown installs without other packages and converts as the proxy does',
  { skip: unbuilt },
  async (t) => {
    const folder = folderOf(t)
    const file = await packMarkdown(join(folder, 'a'))
    const again = await packMarkdown(join(folder, 'b'))
    t.ok(readFileSync(file).equals(readFileSync(again)), 'two packs are equal')
    const site = join(folder, 'site')
    mkdirSync(site)
    writeFileSync(join(site, 'package.json'), '{ "type": "module", "private": true }')
    await run('npm', ['install', '--offline', '--no-audit', '--no-fund', file], { cwd: site })
    const lock = JSON.parse(readFileSync(join(site, 'package-lock.json'), 'utf8')) as { packages: object }
    t.strictSame(Object.keys(lock.packages), ['', 'node_modules/@edged/markdown'])
    const page =
      '<title>T &copy;</title><h1>A &amp; b</h1><ul><li>x<li><a href="/y">y</a></ul><svg><title>s</title></svg>'
    writeFileSync(join(site, 'page.html'), page)
    writeFileSync(
      join(site, 'use.js'),
      `import { convert, MarkdownTransform } from '@edged/markdown'
    import { createReadStream } from 'node:fs'
    process.stdout.write(JSON.stringify([
      convert(${JSON.stringify(page)}),
      Buffer.concat(await createReadStream('page.html').pipe(new MarkdownTransform({ contentType: 'text/html' })).toArray()).toString(),
    ]))`,
    )
    const { stdout } = await run(process.execPath, ['use.js'], { cwd: site })
    t.strictSame(JSON.parse(stdout), [convert(page), convert(page)])
    // Its types are complete.
    writeFileSync(
      join(site, 'use.ts'),
      `import { convert, MarkdownTransform, type ConvertOptions } from '@edged/markdown'
    const options: ConvertOptions = { content: 'main', links: 'numbered' }
    export const text: string = convert('<p>a', options)
    export const stream: NodeJS.ReadWriteStream = new MarkdownTransform({ contentType: 'text/html' })
    // @ts-expect-error an unknown option
    convert('', { contents: 'main' })`,
    )
    cpSync(join(ROOT, 'node_modules/@types/node'), join(site, 'node_modules/@types/node'), { recursive: true })
    cpSync(join(ROOT, 'node_modules/undici-types'), join(site, 'node_modules/undici-types'), { recursive: true })
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--types', 'node', 'use.ts']
    await run(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), ...options], { cwd: site })
  },
)
