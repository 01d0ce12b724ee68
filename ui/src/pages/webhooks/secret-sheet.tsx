import { Button } from '../../parts/button.tsx'
import { Code } from '../../parts/panel.tsx'
import { Sheet, SheetBody } from '../../parts/sheet.tsx'
import { Notice } from '../../parts/states.tsx'

/** Shows a secret once. */
export const SecretSheet = ({ label, secret, onClose }: { label: string; secret: string; onClose: () => void }) => (
  <Sheet title={`Signing secret of ${label}`} onClose={onClose}>
    <SheetBody>
      <Notice kind="warn">Copy it now. It is not shown again.</Notice>
      <Code label="Signing secret" text={secret} />
      <p className="soft">
        The receiver checks the header fields webhook-id, webhook-timestamp and webhook-signature with it.{' '}
        <a href="/docs/webhooks.html" target="_blank" rel="noreferrer">
          How to verify
        </a>
      </p>
      <div>
        <Button kind="primary" onClick={onClose}>
          I have copied it
        </Button>
      </div>
    </SheetBody>
  </Sheet>
)
