import type { StoredNamespace, StoredTransfer } from '../../src/core/model/worker.js'

/** A namespace `script/Class`; `:kv` for the older storage, `<from` for where it came from, `+c` for its container. */
export function namespace(text: string): StoredNamespace {
  const [, script = '', name = '', kv, from, container] = /^(\w+)\/(\w+)(:kv)?(?:<(\w+))?(?:\+(\w+))?$/.exec(text) ?? []
  return {
    id: `id-${script}-${name}`,
    script,
    class: name,
    use_sqlite: kv === undefined,
    ...(from !== undefined && { received_from: from }),
    ...(container !== undefined && { container }),
  }
}

/** A transfer `target/Class<source`. */
export function transfer(text: string): StoredTransfer {
  const [, target = '', name = '', source = '', container] = /^(\w+)\/(\w+)<(\w+)(?:\+(\w+))?$/.exec(text) ?? []
  return { target, class: name, source, storage: 'sqlite', ...(container !== undefined && { container }) }
}
