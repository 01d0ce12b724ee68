/** The dashboard, built into the package. Paths of assets contain a hash of their content. */
export default {
  root: import.meta.dirname,
  base: '/ui/',
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic' } },
  build: {
    outDir: '../dist/ui',
    emptyOutDir: true,
    target: 'es2022',
    // These have light-dark(), which the choice of the theme needs.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    assetsInlineLimit: 0,
    // Its inline script and its links for preloading are of no use here.
    modulePreload: false,
    reportCompressedSize: false,
    // All that the frame needs is one file, whose compressed size a test holds.
    chunkSizeWarningLimit: 800,
    // Directives for servers in packages mean nothing here.
    rolldownOptions: {
      checks: { moduleLevelDirective: false },
      onwarn: (warning, next) => warning.code === 'MODULE_LEVEL_DIRECTIVE' || next(warning),
    },
  },
}
