// Changes that need a recent sign-in, or the password, a passkey or the second factor again (contract 3.21).

import { Button, Field, Form, Problem, html, useAction, useEffect, useModal, useState } from "./ui.js";
import { T } from "./i18n.js";
import { own } from "./api.js";
import { IdentityCode, TokenCode } from "./errors.js";
import { Password, hasPasskeys } from "./signin.js";

// Both APIs ask for a proof; the same number means something else in the other one.
const coded = (error, ...codes) => codes.includes(error?.code) && (error.fromIdentity || error.code % 1000 > 900);
const needsKey = (error) => coded(error, IdentityCode.SESSION_NOT_YOUNG, IdentityCode.KEY_CHANGE, TokenCode.PROOF_MISSING,
  TokenCode.PROOF_WRONG);
const needsFactor = (error) => coded(error, IdentityCode.FACTOR_FIRST, IdentityCode.VERIFICATION_FAILED, TokenCode.FACTOR_MISSING,
  TokenCode.FACTOR_WRONG);

/**
 * Returns `stepUp`, which sends a request like `own`. When the server wants the password or the second factor, it asks for
 * them in `dialog` and repeats the request. It throws the server's refusal when the dialog is closed.
 * @param {(method: string, url: string, options: any) => Promise<any>} send
 */
export function useStepUp(send = own) {
  const [asked, ask] = useState(/** @type {any} */ (null));
  const stepUp = async (/** @type {string} */ method, /** @type {string} */ url, /** @type {Record<string, unknown>} */ json = {},
    accept = "application/json") => {
    try {
      return await send(method, url, Object.keys(json).length > 0 ? { json, accept } : { accept });
    } catch (error) {
      if (!needsKey(error) && !needsFactor(error)) throw error;
      return new Promise((resolve, reject) => ask({ send, method, url, json, accept, refused: error, resolve, reject }));
    }
  };
  return { stepUp, dialog: asked && html`<${StepUpDialog} ...${asked} onClose=${() => ask(null)} />` };
}

/** Asks for the password, the second factor or both, or for a passkey, until the request succeeds. */
function StepUpDialog({ send: request, method, url, json, accept, refused, resolve, reject, onClose }) {
  const dialog = useModal();
  const [key, setKey] = useState(needsKey(refused));
  const [factor, setFactor] = useState(needsFactor(refused));
  const [touch, setTouch] = useState(false);
  useEffect(() => {
    if (hasPasskeys) import("./passkeys.js").then(({ any }) => any()).then(setTouch);
  }, []);
  const send = useAction(async ({ password, code = "" }, _form, passkey) => {
    const typed = code.replace(/[\s-]/g, "").toUpperCase();
    const proof = {
      ...(password ? { authKey: password } : {}),
      ...(typed ? { authFactor: { type: /^\d{6}$/.test(typed) ? "totp" : "recovery", key: typed } } : {}),
      ...(passkey ? { authFactor: await (await import("./passkeys.js")).prove() } : {}),
    };
    try {
      resolve(await request(method, url, { json: { ...json, ...proof }, accept }));
    } catch (error) {
      if (needsKey(error)) setKey(true);
      if (needsFactor(error)) setFactor(true);
      if (needsKey(error) || needsFactor(error)) throw error;
      reject(error);
    }
    dialog.current?.close();
  });
  const close = () => {
    reject(refused); // does nothing after a success
    onClose();
  };
  /** Sends the proof of a passkey, with the password if it is typed already. */
  const byPasskey = () => send.run(
    { password: /** @type {HTMLInputElement | null | undefined} */ (dialog.current?.querySelector("[name=password]"))?.value }, null, true);
  const first = needsFactor(send.error) && [IdentityCode.FACTOR_FIRST, TokenCode.FACTOR_MISSING].includes(send.error.code);
  return html`<dialog ref=${dialog} onClose=${close} aria-label=${T("Please confirm it’s you.")}>
    <p>${T("Please confirm it’s you.")}</p>
    ${touch && html`<p><${Button} kind="primary" icon="key" busy=${send.busy} onClick=${byPasskey}>${T("Use a passkey")}<//></p>
      <div class="or"><span>${T("or")}</span></div>`}
    <${Form} onSend=${send.run}>
      ${key && html`<${Password} label=${T("Password")} name="password" autocomplete="current-password" focus />`}
      ${factor && html`<${Field} label=${T("Code from your authenticator app, or a recovery code")} name="code" required class="wide-code"
        autocomplete="one-time-code" autocapitalize="characters" spellcheck="false" focus=${!key} />`}
      ${!first && html`<${Problem} error=${send.error} />`}
      <div class="row end">
        <${Button} onClick=${() => dialog.current?.close()}>${T("Cancel")}<//>
        <${Button} type="submit" kind=${touch ? "plain" : "primary"} busy=${send.busy}>${T("Continue")}<//>
      </div>
    <//>
  </dialog>`;
}
