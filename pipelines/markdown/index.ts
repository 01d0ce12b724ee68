/** HTML to Markdown for agents, exactly as the proxy writes it: `edged/markdown`. */
export { convert, Converter, MAX_HTML_BYTES, PageTooLarge, type Content, type ConvertOptions } from './convert.js'
export { NotConvertible } from './text/not-convertible.js'
export { MarkdownTransform } from './transform.js'
