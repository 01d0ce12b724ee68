/** HTML to Markdown for agents, exactly as the proxy writes it: `edged/markdown`. */
export { MAX_HTML_BYTES, PageTooLarge, type Content } from './options.js'
export { convert, Converter, type ConvertOptions } from './library.js'
export { NotConvertible } from './text/not-convertible.js'
export { MarkdownTransform } from './transform.js'
