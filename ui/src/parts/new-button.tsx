import { useGo } from '../address.tsx'
import { Button } from './button.tsx'

/** The button of a page that opens the form of a new object. `isPlain`: in an empty list, below the button of the head. */
export function NewButton({ label, isPlain = false }: { label: string; isPlain?: boolean }) {
  const go = useGo()
  return (
    <Button kind={isPlain ? 'plain' : 'primary'} icon="plus" onClick={() => go({ rest: ['new'] })}>
      {label}
    </Button>
  )
}
