import { createReadStream } from 'node:fs'
import { Converter, PageTooLarge, NotConvertible } from '../../pipelines/markdown/index.js'
import { messageOf } from '../core/errors.js'
import { Exit, type DefineCommand } from './command.js'

/** `edged convert [FILE]`: HTML to the Markdown that the proxy would write, or with what it leaves out kept as HTML. */
export const convert: DefineCommand = (command) => {
  command
    .argument('[file]', 'the page; - or none: standard input')
    .option('--content-type <type>', 'the Content-Type of the page, for charset and XHTML', 'text/html')
    .option('--keep-html', 'keep as HTML what Markdown has no words for, to make pages of it again', false)
    .addHelpText(
      'after',
      '\nExit codes: 0 done, 3 over 6291456 bytes of HTML, 4 not convertible (malformed XHTML, no HTML).',
    )
    .action(async (file: string | undefined, options: Options) => {
      const input = file === undefined || file === '-' ? process.stdin : createReadStream(file)
      process.stdout.write(await markdownOf(input, options))
    })
}

interface Options {
  contentType: string
  keepHtml: boolean
}

/** The whole Markdown: nothing is printed before it is certain that the page can be converted. */
async function markdownOf(input: AsyncIterable<Uint8Array>, { contentType, keepHtml }: Options): Promise<string> {
  if (!/^\s*(text\/html|application\/xhtml\+xml)\s*(;|$)/i.test(contentType))
    throw new Exit(4, `${contentType} is not converted: text/html and application/xhtml+xml are`)
  const converter = new Converter({ contentType, keepHtml })
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
