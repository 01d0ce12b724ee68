// A source of pipelines: counts to a number, as in `source: { counter: { to: 100 } }`.

/** @param {import('edged/plugin').Edged} edged */
export default ({ source, Type }) => {
  source({
    name: 'counter',
    description: 'Records with the numbers from 1 on.',
    schema: Type.Object({ to: Type.Integer({ minimum: 1, description: 'The last number.' }) }),

    async *open({ to }, { signal, tell }) {
      for (let from = 1; from <= to && !signal.aborted; from += 1000) {
        const count = Math.min(1000, to - from + 1)
        yield {
          records: Array.from({ length: count }, (_, index) => ({ number: from + index })),
          // A queue would be told here that these messages have been taken.
          acknowledge: async () => tell(`${from + count - 1} of ${to} are safe on disk`),
        }
      }
    },
  })
}
