import type { HtmlHandling, NotFoundHandling } from './config.js'
import type { AssetFile, AssetFiles } from './files.js'

/** The result of a lookup: a file, or the path that the file is served at. */
export type Page =
  | { readonly kind: 'file'; readonly file: AssetFile; readonly status: 200 | 404 }
  | { readonly kind: 'moved'; readonly to: string }

type Lookup = (files: AssetFiles, path: string, stays?: boolean) => Page | undefined

/**
 * Returns the page for a decoded path, or undefined. Each way of handling HTML has one lookup. With `stays`, the lookup
 * returns only files, because the path is the target of a redirect.
 */
export const PAGES: Readonly<Record<HtmlHandling, Lookup>> = {
  none: (files, path) => exact(files, path),

  exact(files, path) {
    if (path.endsWith('/')) return exact(files, `${path}index.html`)
    return exact(files, path) ?? (files.has(`${path}/index.html`) ? { kind: 'moved', to: `${path}/` } : undefined)
  },

  'auto-trailing-slash'(files, path, stays = false) {
    const move = mover('auto-trailing-slash', files, stays)
    const plain = () => exact(files, path) ?? exact(files, `${path}.html`) ?? move(`${path}/index.html`, `${path}/`)
    const { form, folder, bare } = dissected(path)
    switch (form) {
      case 'index':
        return exact(files, path) ?? move(`${path}.html`, folder) ?? move(`${bare}.html`, bare) ?? plain()
      case 'index.html':
        return move(path, folder) ?? exact(files, path) ?? move(`${bare}.html`, bare) ?? plain()
      case 'folder':
        return exact(files, `${path}index.html`) ?? move(`${bare}.html`, bare) ?? plain()
      case 'html':
        return move(path, bare) ?? exact(files, path) ?? move(`${bare}/index.html`, folder) ?? plain()
      default:
        return plain()
    }
  },

  'force-trailing-slash'(files, path, stays = false) {
    const move = mover('force-trailing-slash', files, stays)
    const plain = () => exact(files, path) ?? move(`${path}.html`, `${path}/`) ?? move(`${path}/index.html`, `${path}/`)
    const { form, folder, bare } = dissected(path)
    switch (form) {
      case 'index':
        return exact(files, path) ?? move(`${path}.html`, folder) ?? move(`${bare}.html`, folder) ?? plain()
      case 'index.html':
        return move(path, folder) ?? exact(files, path) ?? move(`${bare}.html`, folder) ?? plain()
      case 'folder':
        return exact(files, `${path}index.html`) ?? exact(files, `${bare}.html`) ?? plain()
      case 'html':
        return move(path, folder) ?? exact(files, path) ?? move(`${bare}/index.html`, folder) ?? plain()
      default:
        return plain()
    }
  },

  'drop-trailing-slash'(files, path, stays = false) {
    if (path === '/') return exact(files, '/index.html')
    const move = mover('drop-trailing-slash', files, stays)
    const plain = () => exact(files, path) ?? exact(files, `${path}.html`) ?? exact(files, `${path}/index.html`)
    const { form, bare } = dissected(path)
    switch (form) {
      case 'index':
        return exact(files, path) ?? move(`${path}.html`, bare || '/') ?? move(`${bare}.html`, bare) ?? plain()
      case 'index.html':
        return move(path, bare || '/') ?? exact(files, path) ?? move(`${bare}.html`, bare) ?? plain()
      case 'folder':
        return move(`${bare}.html`, bare) ?? move(`${bare}/index.html`, bare) ?? plain()
      case 'html':
        return move(path, bare) ?? exact(files, path) ?? move(`${bare}/index.html`, bare) ?? plain()
      default:
        return plain()
    }
  },
}

const ENDINGS = [
  ['index', '/index'],
  ['index.html', '/index.html'],
  ['folder', '/'],
  ['html', '.html'],
] as const

/** Splits a path into its ending and the text before it, without and with a slash at the end. */
function dissected(path: string) {
  const [form, ending] = ENDINGS.find(([, ending]) => path.endsWith(ending)) ?? ['plain', '']
  const bare = path.slice(0, path.length - ending.length)
  return { form, bare, folder: `${bare}/` }
}

/** Returns the response to a path without an asset. Undefined if no such page exists. */
export const NOT_FOUND: Readonly<Record<NotFoundHandling, Lookup>> = {
  none: () => undefined,

  'single-page-application': (files) => exact(files, '/index.html'),

  '404-page'(files, path) {
    for (let end = path.lastIndexOf('/'); end >= 0; end = path.lastIndexOf('/', end - 1)) {
      const file = files.get(`${path.slice(0, end)}/404.html`)
      if (file) return { kind: 'file', file, status: 404 }
      if (end === 0) break
    }
    return undefined
  },
}

function exact(files: AssetFiles, path: string): Page | undefined {
  const file = files.get(path)
  return file && { kind: 'file', file, status: 200 }
}

/** Redirects a file to the path at which it, and no other file, is served. */
function mover(handling: HtmlHandling, files: AssetFiles, stays: boolean) {
  return (path: string, to: string): Page | undefined => {
    const file = stays ? undefined : files.get(path)
    if (!file || to === '' || files.has(to)) return undefined
    const there = PAGES[handling](files, to, true)
    return there?.kind === 'file' && there.file === file ? { kind: 'moved', to } : undefined
  }
}
