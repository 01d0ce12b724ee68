import { mkdir, open, stat } from 'node:fs/promises'
import { basename, extname, join } from 'node:path'
import { Option } from 'commander'
import { Converter, PageTooLarge, NotConvertible, type Content } from '../../pipelines/markdown/index.js'
import { messageOf } from '../core/errors.js'
import { VERSION } from '../release/package.js'
import { Exit, type DefineCommand } from './common/command.js'
import { otherType } from './common/page-type.js'
import { showCount } from './common/progress.js'

/** `edged convert [FILE|URL...]`: HTML to the Markdown that the proxy would write. */
export const convert: DefineCommand = (command) => {
  command
    .argument('[pages...]', 'files or http(s) URLs; - or none: standard input')
    .option(
      '--content-type <type>',
      'Content-Type of the pages, for charset and XHTML (default: of a URL its own, else text/html)',
    )
    .option('--main', 'convert only the main content of each page', false)
    .addOption(
      new Option(
        '--keep-html',
        'keep what Markdown cannot express as HTML, so that pages can be created from the result',
      )
        .default(false)
        .conflicts(['main', 'links']),
    )
    .option('--no-links', 'leave links as their text and images as their description')
    .addOption(
      new Option('--citations', 'number the links and list their addresses at the end')
        .default(false)
        .conflicts(['keepHtml', 'links']),
    )
    .option('--no-footnotes', 'leave marks of footnotes as links and the notes as lists')
    .option('--no-callouts', 'leave callouts as plain text')
    .option('--no-math', 'write the TeX of formulas as code, without dollar signs')
    .option(
      '-o, --output <path>',
      'write to this file, or with several pages, to NAME.md in this folder, which is created',
    )
    .addHelpText(
      'after',
      `
Without --output the Markdown is written to standard output, that of several pages one after the other.
Of a URL the name in the folder is the last part of its path, or its host.

Exit codes: 0 converted; 1 a page cannot be read; 3 a page is larger than 6291456 bytes; 4 a page is not convertible
(malformed XHTML, not HTML). With several pages the others are converted all the same, and the code is that of the first
failure.`,
    )
    .action(convertPages)
}

interface Options {
  contentType?: string
  keepHtml: boolean
  main: boolean
  links: boolean
  citations: boolean
  footnotes: boolean
  callouts: boolean
  math: boolean
  output?: string
}

async function convertPages(pages: readonly string[], options: Options): Promise<void> {
  const inputs = pages.length === 0 ? ['-'] : pages
  const folder = options.output !== undefined && (inputs.length > 1 || (await isFolder(options.output)))
  if (folder) rejectSameNames(inputs)
  if (folder) await createFolder(options.output as string)
  const showsProgress = inputs.length > 1 && options.output !== undefined
  const progress = showsProgress ? showCount(process.stderr, inputs.length, 'pages') : undefined
  let failure: Exit | undefined
  for (const [at, input] of inputs.entries()) {
    try {
      const markdown = await markdownOf(await openPage(input, options.contentType), options)
      if (options.output === undefined) await print(at > 0 && markdown !== '' ? `\n${markdown}` : markdown)
      else await save(folder ? join(options.output, nameOf(input)) : options.output, markdown)
    } catch (error) {
      if (inputs.length === 1) throw error
      failure ??= error instanceof Exit ? error : new Exit(1, messageOf(error))
      const reason = messageOf(error)
      const line = reason.startsWith(`${input}:`) ? `${reason}\n` : `${input}: ${reason}\n`
      if (progress) progress.above(() => process.stderr.write(line))
      else process.stderr.write(line)
    }
    progress?.done(at + 1)
  }
  progress?.stop()
  if (failure !== undefined) throw new Exit(failure.code, `not all pages were converted`)
}

const isFolder = async (path: string): Promise<boolean> => {
  try {
    return (await stat(path)).isDirectory()
  } catch {
    return false
  }
}

async function createFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const why = code === 'EEXIST' || code === 'ENOTDIR' ? 'is not a folder; several pages need one' : messageOf(error)
    throw new Exit(2, `--output: ${JSON.stringify(path)} ${why}`)
  }
}

function nameOf(input: string): string {
  if (input === '-') return 'stdin.md'
  if (!isUrl(input)) return `${basename(input, extname(input))}.md`
  const { pathname, hostname } = new URL(input)
  const name = basename(pathname, extname(pathname)).replaceAll(/[^\w.%~-]/g, '_')
  return `${name || hostname}.md`
}

/** Throws if two pages would be written to one file: nothing is written then. */
function rejectSameNames(inputs: readonly string[]): void {
  const names = new Map<string, string>()
  for (const input of inputs) {
    const name = nameOf(input)
    const other = names.get(name)
    if (other !== undefined) throw new Exit(2, `${other} and ${input} would both be written to ${name}`)
    names.set(name, input)
  }
}

/** Writes to standard output. Resolves when its reader has read; its errors are handled for all commands. */
const print = (text: string): Promise<void> =>
  new Promise((resolve) => {
    process.stdout.write(text, () => resolve())
  })

async function save(path: string, text: string): Promise<void> {
  const file = await open(path, 'w').catch((error: unknown) => {
    const why = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'its folder does not exist' : messageOf(error)
    throw new Exit(1, `--output: cannot write to ${JSON.stringify(path)}: ${why}`)
  })
  try {
    await file.writeFile(text)
  } finally {
    await file.close()
  }
}

interface OpenPage {
  readonly contentType: string
  readonly bytes: AsyncIterable<Uint8Array>
}

const isUrl = (input: string): boolean => /^https?:\/\//i.test(input) && URL.canParse(input)

/** Maximum time for a page to arrive from a URL. */
const TIMEOUT_MS = 60_000

async function openPage(input: string, contentType?: string): Promise<OpenPage> {
  if (isUrl(input)) return await requestPage(input, contentType)
  const bytes = input === '-' ? process.stdin : await openFile(input)
  return { contentType: contentType ?? 'text/html', bytes }
}

async function openFile(path: string): Promise<AsyncIterable<Uint8Array>> {
  try {
    if (await isFolder(path)) throw new Exit(1, `${path}: is a folder; name its pages, as in ${join(path, '*.html')}`)
    return (await open(path)).createReadStream()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    const isAddress = /^(?:www\.|(?:[\w-]+\.)+[a-z]{2,}(?::\d+)?\/)/i.test(path)
    const advice = isAddress
      ? `; to convert a page of the web, name https://${path}`
      : /^[a-z][a-z0-9+.-]*:\/\//i.test(path)
        ? '; addresses are http://HOST/PATH or https://HOST/PATH'
        : ''
    throw new Exit(1, `${path}: no such file${advice}`)
  }
}

async function requestPage(url: string, contentType: string | undefined): Promise<OpenPage> {
  const headers = { accept: 'text/html, application/xhtml+xml;q=0.9', 'user-agent': `edged/${VERSION}` }
  try {
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) })
    const { ok, status, body } = response
    if (!ok || body === null) {
      await body?.cancel()
      throw new Exit(1, `${new URL(url).host} responded with ${status}`)
    }
    return { contentType: contentType ?? response.headers.get('content-type') ?? '', bytes: body }
  } catch (error) {
    throw error instanceof Exit ? error : unreachable(new URL(url).host, error)
  }
}

/** Returns the error for a request that failed. The library's own message does not say why. */
const unreachable = (host: string | undefined, error: unknown): Exit => {
  const { name, cause } = error as Error
  const found = messageOf(cause ?? error)
  const reason =
    name === 'TimeoutError'
      ? `no page after ${TIMEOUT_MS / 1000} s`
      : found === 'bad port'
        ? 'Node does not connect to this port; serve the page at another one'
        : found
  return new Exit(1, `cannot read the page${host === undefined ? '' : ` from ${host}`}: ${reason}`)
}

/** The whole Markdown: nothing is written before it is certain that the page can be converted. */
async function markdownOf({ contentType, bytes }: OpenPage, options: Options): Promise<string> {
  const content: Content = options.main ? 'main' : 'page'
  if (!/^\s*(text\/html|application\/xhtml\+xml)\s*(;|$)/i.test(contentType))
    throw new Exit(
      4,
      `Content-Type ${JSON.stringify(contentType)} is not converted; use text/html or application/xhtml+xml`,
    )
  const links = options.citations ? 'numbered' : options.links
  const { keepHtml, footnotes, callouts, math } = options
  const converter = new Converter({ contentType, keepHtml, content, links, footnotes, callouts, math })
  const parts: string[] = []
  try {
    for await (const chunk of bytes) {
      const other = parts.length === 0 ? otherType(chunk) : undefined
      if (other !== undefined) throw new Exit(4, `the page is not HTML: its first bytes are ${other}`)
      parts.push(converter.write(chunk))
    }
    parts.push(converter.end())
  } catch (error) {
    if (error instanceof PageTooLarge) throw new Exit(3, messageOf(error))
    if (error instanceof NotConvertible) throw new Exit(4, messageOf(error))
    throw (error as Error).name === 'TimeoutError' || error instanceof TypeError ? unreachable(undefined, error) : error
  }
  return parts.join('')
}
