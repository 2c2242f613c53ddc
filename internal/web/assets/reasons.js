// Changes by operators and administrators, each with a reason that stays in the audit.

import { Button, Field, Form, Problem, announce, html, useAction, useModal, useRef, useState } from "./ui.js";
import { T } from "./i18n.js";

/**
 * A button that asks for a reason in a dialog and then posts it to `path`. `children`: more fields, whose values `read` makes members of
 * the request. `accept`: the type of the answer. `onDone` gets the answer, and its body when that is JSON. `useChange` returns what sends
 * the request, and a dialog that may ask for a proof.
 * @param {{label: string, question: string, path: string, read?: (values: any) => Record<string, unknown>, kind?: string, accept?: string,
 * onDone: (answer: Response, body: any) => unknown, children?: any, useChange: () => {change: (method: string, path: string, options: any)
 *  => Promise<any>, dialog: any}}} props
 */
export function Stated({ label, question, path, read = () => ({}), kind = "plain", accept, onDone, children = null, useChange }) {
  const [open, setOpen] = useState(false);
  return html`<${Button} kind=${kind} onClick=${() => setOpen(true)}>${label}<//>
    ${open && html`<${Because} ...${{ label, question, path, read, kind, accept, onDone, children, useChange }}
      onClose=${() => setOpen(false)} />`}`;
}

function Because({ label, question, path, read, kind, accept, onDone, onClose, children, useChange }) {
  const { change, dialog: proof } = useChange();
  const dialog = useModal();
  const key = useRef("");
  const send = useAction(async (values) => {
    // sent again, it creates nothing more
    key.current ||= [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");
    const { response, body } = await change("POST", path,
      { json: { reason: values.reason, ...read(values) }, accept, headers: { "Idempotency-Key": key.current } });
    dialog.current?.close();
    announce(T("Done"));
    await onDone(response, body);
  });
  return html`<dialog ref=${dialog} onClose=${onClose} aria-label=${label}>
    <p>${question}</p>
    <${Form} onSend=${send.run} refused=${send.error}>
      ${children}
      <${Field} label=${T("Reason")} name="reason" required maxlength="400" autocomplete="off"
        hint=${T("It stays in the audit, which people can get a copy of.")} focus />
      <${Problem} error=${send.error} />
      <div class="row end">
        <${Button} onClick=${() => dialog.current?.close()}>${T("Cancel")}<//>
        <${Button} type="submit" kind=${kind === "danger" ? "danger" : "primary"} busy=${send.busy}>${label}<//>
      </div>
    <//>
  </dialog>${proof}`;
}
