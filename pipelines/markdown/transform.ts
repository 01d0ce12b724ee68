import { Transform, type TransformCallback } from 'node:stream'
import { Converter, type ConvertOptions } from './library.js'

/**
 * Converts a stream of a page's bytes to its Markdown in UTF-8. Each block is sent as soon as it is finished. Destroyed
 * with NotConvertible or PageTooLarge if the page cannot be converted.
 */
export class MarkdownTransform extends Transform {
  readonly #converter: Converter

  constructor(options?: ConvertOptions) {
    super()
    this.#converter = new Converter(options)
  }

  override _transform(chunk: Buffer | string, encoding: BufferEncoding, done: TransformCallback): void {
    try {
      const markdown = this.#converter.write(typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk)
      if (markdown !== '') this.push(markdown, 'utf8')
      done()
    } catch (error) {
      done(error as Error)
    }
  }

  override _flush(done: TransformCallback): void {
    try {
      const markdown = this.#converter.end()
      if (markdown !== '') this.push(markdown, 'utf8')
      done()
    } catch (error) {
      done(error as Error)
    }
  }
}
