import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { basename, extname, join } from 'node:path'
import { Option } from 'commander'
import { Converter, PageTooLarge, NotConvertible, type Content } from '../../pipelines/markdown/index.js'
import { messageOf } from '../core/errors.js'
import { Exit, type DefineCommand } from './command.js'

/** `edged convert [FILE...]`: HTML to the Markdown that the proxy would write. */
export const convert: DefineCommand = (command) => {
  command
    .argument('[files...]', 'HTML files; - or none: standard input')
    .option('--content-type <type>', 'Content-Type of the pages, for charset and XHTML', 'text/html')
    .option('--main', 'convert only the main content of each page', false)
    .addOption(
      new Option('--keep-html', 'keep as HTML what Markdown cannot express, to create pages from it again')
        .default(false)
        .conflicts('main'),
    )
    .option('-o, --output <path>', 'write to this file, or with several input files, to NAME.md in this folder')
    .addHelpText(
      'after',
      `
Without --output the Markdown is written to standard output, that of several files one after the other.

Exit codes: 0 converted; 3 a page is larger than 6291456 bytes; 4 a page is not convertible (malformed XHTML, not HTML).
With several files the others are converted all the same, and the code is that of the first failure.`,
    )
    .action(convertFiles)
}

interface Options {
  contentType: string
  keepHtml: boolean
  main: boolean
  output?: string
}

async function convertFiles(files: readonly string[], options: Options): Promise<void> {
  const inputs = files.length === 0 ? ['-'] : files
  const folder = options.output !== undefined && (inputs.length > 1 || (await isFolder(options.output)))
  if (folder && !(await isFolder(options.output as string)))
    throw new Exit(2, `--output: ${JSON.stringify(options.output)} is not a folder; several files need one`)
  if (folder) rejectSameNames(inputs)
  let failure: Exit | undefined
  for (const [at, file] of inputs.entries()) {
    try {
      const markdown = await markdownOf(file === '-' ? process.stdin : createReadStream(file), options)
      if (options.output === undefined) await print(at > 0 && markdown !== '' ? `\n${markdown}` : markdown)
      else await save(folder ? join(options.output, nameOf(file)) : options.output, markdown)
    } catch (error) {
      if (inputs.length === 1) throw error
      failure ??= error instanceof Exit ? error : new Exit(1, messageOf(error))
      process.stderr.write(`${file}: ${messageOf(error)}\n`)
    }
    if (inputs.length > 1 && options.output !== undefined && process.stderr.isTTY)
      process.stderr.write(`\r${at + 1} of ${inputs.length} pages${at + 1 === inputs.length ? '\n' : ''}`)
  }
  if (failure !== undefined) throw new Exit(failure.code, `not all pages were converted`)
}

const isFolder = async (path: string): Promise<boolean> => {
  try {
    return (await stat(path)).isDirectory()
  } catch {
    return false
  }
}

const nameOf = (file: string): string => (file === '-' ? 'stdin.md' : `${basename(file, extname(file))}.md`)

/** Throws if two files would be written to one: nothing is written then. */
function rejectSameNames(files: readonly string[]): void {
  const names = new Map<string, string>()
  for (const file of files) {
    const name = nameOf(file)
    const other = names.get(name)
    if (other !== undefined) throw new Exit(2, `${other} and ${file} would both be written to ${name}`)
    names.set(name, file)
  }
}

/** Writes to standard output. Resolves when its reader has read; its errors are handled for all commands. */
const print = (text: string): Promise<void> =>
  new Promise((resolve) => {
    process.stdout.write(text, () => resolve())
  })

async function save(path: string, text: string): Promise<void> {
  const file = await open(path, 'w')
  try {
    await file.writeFile(text)
  } finally {
    await file.close()
  }
}

/** The whole Markdown: nothing is written before it is certain that the page can be converted. */
async function markdownOf(input: AsyncIterable<Uint8Array>, options: Options): Promise<string> {
  const { contentType, keepHtml } = options
  const content: Content = options.main ? 'main' : 'page'
  if (!/^\s*(text\/html|application\/xhtml\+xml)\s*(;|$)/i.test(contentType))
    throw new Exit(4, `${contentType} is not converted; use text/html or application/xhtml+xml`)
  const converter = new Converter({ contentType, keepHtml, content })
  const parts: string[] = []
  try {
    for await (const chunk of input) parts.push(converter.write(chunk))
    parts.push(converter.end())
  } catch (error) {
    if (error instanceof PageTooLarge) throw new Exit(3, messageOf(error))
    if (error instanceof NotConvertible) throw new Exit(4, messageOf(error))
    throw error
  }
  return parts.join('')
}
