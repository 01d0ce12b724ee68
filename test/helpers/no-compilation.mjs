/** Loaded before a program: code of ajv is not compiled. Such code has the variable `vErrors`. */
globalThis.Function = new Proxy(Function, {
  construct(target, args) {
    if (String(args.at(-1)).includes('vErrors')) throw new Error('a schema is compiled')
    return Reflect.construct(target, args)
  },
})
