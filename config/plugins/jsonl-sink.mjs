// A destination: appends each batch to one file, as in `jsonl:/var/log/edged/orders.jsonl?fsync=true`.
import { open } from 'node:fs/promises'
import { dirname, resolve, sep } from 'node:path'

/** @param {import('edged/plugin').Edged} edged */
export default ({ sink, Type }) => {
  sink({
    scheme: 'jsonl',
    form: 'jsonl:/PATH',
    summary: 'lines at the end of one file',
    params: Type.Object({
      fsync: Type.Optional(Type.Boolean({ description: 'Wait until the disk has the lines. Default: false.' })),
    }),

    check(destination, _params, { allowFileUnder }) {
      const path = resolve(decodeURIComponent(destination.pathname))
      // Pipeline files belong to the user who runs them, and may write anywhere.
      if (
        allowFileUnder.length > 0 &&
        !allowFileUnder.some((folder) =>
          dirname(path)
            .concat(sep)
            .startsWith(folder + sep),
        )
      )
        throw new Error('is outside the folders of logpush.destinations.allow_file_under')
    },

    open(destination, { fsync = false }) {
      const path = decodeURIComponent(destination.pathname)
      return {
        ordered: true,
        async write({ body }) {
          const file = await open(path, 'a')
          try {
            await file.writeFile(body.read())
            if (fsync) await file.sync()
          } catch (error) {
            throw Object.assign(new Error(`${path} could not be written: ${error.code}`), { failure: 'refused' })
          } finally {
            await file.close()
          }
        },
      }
    },
  })
}
