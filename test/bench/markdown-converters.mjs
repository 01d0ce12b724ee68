// Every converter behind one face: an async loader that gives (html: string) => string.
export const CONVERTERS = {
  async edged() {
    const { convert } = await import('../../dist/pipelines/markdown/index.js')
    return (html) => convert(html)
  },

  async 'edged, bytes'() {
    const { convert } = await import('../../dist/pipelines/markdown/index.js')
    return (_, bytes) => convert(bytes)
  },

  async 'edged, main content'() {
    const { convert } = await import('../../dist/pipelines/markdown/index.js')
    return (html) => convert(html, { content: 'main' })
  },

  async 'edged, 16 KiB chunks of bytes'() {
    const { Converter } = await import('../../dist/pipelines/markdown/index.js')
    return (html, bytes) => {
      const converter = new Converter()
      let markdown = ''
      for (let at = 0; at < bytes.length; at += 16_384) markdown += converter.write(bytes.subarray(at, at + 16_384))
      return markdown + converter.end()
    }
  },

  async 'mdream (Rust)'() {
    const { htmlToMarkdown } = await import('mdream')
    return (html) => htmlToMarkdown(html)
  },

  async 'mdream (Rust), bytes'() {
    const { htmlToMarkdown } = await import('mdream')
    return (_, bytes) => htmlToMarkdown(bytes.toString())
  },

  async 'mdream (JS)'() {
    const { htmlToMarkdown } = await import('@mdream/js')
    return (html) => htmlToMarkdown(html)
  },

  async 'kreuzberg (Rust)'() {
    const { default: kreuzberg } = await import('@kreuzberg/html-to-markdown-node')
    return (html) => kreuzberg.convert(html).content
  },

  async turndown() {
    const { default: Turndown } = await import('turndown')
    const { gfm } = await import('@joplin/turndown-plugin-gfm')
    const service = new Turndown({ headingStyle: 'atx', codeBlockStyle: 'fenced' })
    service.use(gfm)
    service.remove(['script', 'style', 'header', 'footer', 'nav', 'noscript', 'template', 'iframe'])
    return (html) => service.turndown(html)
  },

  async 'rehype-remark'() {
    const { unified } = await import('unified')
    const plugins = ['rehype-parse', 'rehype-remark', 'remark-gfm', 'remark-stringify']
    const processor = unified()
    for (const plugin of plugins) processor.use((await import(plugin)).default)
    return (html) => String(processor.processSync(html))
  },
}
