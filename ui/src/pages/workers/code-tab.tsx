import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { getForm, messageOf } from '../../api/client.ts'
import { bytes } from '../../parts/format.ts'
import { Code, Panel, Tabs } from '../../parts/panel.tsx'
import { Loading, Problem } from '../../parts/states.tsx'
import type { Script } from './worker.ts'

interface Module {
  readonly name: string
  readonly size: number
  /** Undefined for what is not text. */
  readonly text: string | undefined
}

/** Larger modules are not drawn whole. */
const MAX_CHARACTERS = 200_000

async function readModules(path: string): Promise<readonly Module[]> {
  const form = await getForm(`${path}/content/v2`)
  return await Promise.all(
    [...form].map(async ([name, value]): Promise<Module> => {
      if (typeof value === 'string') return { name, size: value.length, text: value }
      const isText = /javascript|text|json|python|source-map/.test(value.type)
      return { name: value.name || name, size: value.size, text: isText ? await value.text() : undefined }
    }),
  )
}

/** The modules that run now. */
export function CodeTab({ script, path }: { script: Script; path: string }) {
  const { data, error, refetch } = useQuery({
    queryKey: [`${path}/content/v2`, script.modified_on],
    queryFn: async () => await readModules(path),
  })
  const [chosen, setChosen] = useState('')
  if (error) return <Problem title="The code could not be read" text={messageOf(error)} retry={() => void refetch()} />
  if (!data) return <Loading rows={10} label="Loading the code" />
  const shown =
    data.find(({ name }) => name === chosen) ?? data.find(({ name }) => name === script.entry_point) ?? data[0]
  if (!shown) return <p className="soft">This Worker has static files alone.</p>
  return (
    <Panel title={`${shown.name}, ${bytes(shown.size)}`}>
      {data.length > 1 && (
        <Tabs label="Modules" value={shown.name} tabs={data.map(({ name }) => [name, name])} onChange={setChosen} />
      )}
      {shown.text === undefined ? (
        <p className="soft">This module is not text.</p>
      ) : (
        <Code label={`Code of ${shown.name}`} text={shown.text.slice(0, MAX_CHARACTERS)} />
      )}
    </Panel>
  )
}
