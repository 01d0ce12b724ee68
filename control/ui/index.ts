import { join } from 'node:path'
import type { Context } from 'koa'
import type { ApiMiddleware } from '../http/context.js'
import { readFolder, type StaticFile } from './static-files.js'

/** Everything comes from this server, and no page can be framed. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

const NOT_BUILT = 'This part of edged is not built. Run: npm run build\n'

/**
 * Serves the dashboard at `/ui/` and the documentation at `/docs/`, without a token: both are the same for everybody. `folder`
 * has the built files.
 */
export function pages(folder: string): ApiMiddleware {
  let ui: ReadonlyMap<string, StaticFile> | undefined
  let docs: ReadonlyMap<string, StaticFile> | undefined
  const find = (root: string, path: string): StaticFile | undefined => {
    if (root === 'ui') {
      ui ??= readFolder(join(folder, 'ui'))
      return ui.get(path) ?? (isPage(path) ? ui.get('index.html') : undefined)
    }
    docs ??= readFolder(join(folder, 'docs'))
    return docs.get(path === '' ? 'index.html' : path)
  }
  return async (ctx, next) => {
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') return await next()
    // A browser. Other clients get the envelope for an unknown path.
    if (ctx.path === '/' && acceptsPages(ctx)) return ctx.redirect('/ui/')
    const [, root, path] = /^\/(ui|docs)(?:\/(.*))?$/s.exec(ctx.path) ?? []
    if (root === undefined) return await next()
    ctx.set({
      'content-security-policy': POLICY,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
    })
    if (path === undefined) return ctx.redirect(`/${root}/`)
    const file = find(root, path)
    if (file) return send(ctx, file, 200)
    const missing = path === '' || !acceptsPages(ctx) ? undefined : find(root, '404.html')
    if (missing) return send(ctx, missing, 404)
    ctx.status = path === '' ? 503 : 404
    ctx.type = 'text/plain; charset=utf-8'
    ctx.body = path === '' ? NOT_BUILT : 'not found\n'
  }
}

const acceptsPages = (ctx: Context): boolean => /\btext\/html\b/i.test(ctx.get('accept'))

/** Paths of pages of the dashboard: `z/ZONE/...`, where ZONE has dots, `a/ACCOUNT/...`, and others without an extension. */
const isPage = (path: string): boolean => /^[za]\//.test(path) || /^[\w/-]*$/.test(path)

function send(ctx: Context, file: StaticFile, status: number): void {
  const { type, body, etag, immutable } = file
  ctx.set('cache-control', immutable ? 'public, max-age=31536000, immutable' : 'no-cache')
  ctx.set('etag', etag)
  ctx.vary('accept-encoding')
  if (status === 200 && ctx.get('if-none-match') === etag) {
    ctx.status = 304
    return
  }
  ctx.status = status
  ctx.type = type
  const accepts = (encoding: string): boolean => ctx.acceptsEncodings(encoding, 'identity') === encoding
  const brotli = accepts('br') ? file.brotli : undefined
  const gzip = !brotli && accepts('gzip') ? file.gzip() : undefined
  if (brotli ?? gzip) ctx.set('content-encoding', brotli ? 'br' : 'gzip')
  ctx.body = brotli ?? gzip ?? body
}
