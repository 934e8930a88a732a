// The program of the page that `proofPage` makes. It reads the proof in the page, verifies it, and shows the result.

import { type ProofBundle, type Statement, type Trust, type Verification, verify } from "./verify.js";
import { visible } from "./visible.js";

const main = document.getElementById("result") as HTMLElement;
const status = document.getElementById("status") as HTMLElement;

/** Adds an element with a text. The text is never markup. */
function add(parent: HTMLElement, tag: string, text: string): HTMLElement {
    const element = document.createElement(tag);
    element.textContent = visible(text);
    parent.append(element);
    return element;
}

function section(title: string, rows: readonly (readonly [string, string])[]): void {
    add(main, "h2", title);
    const list = main.appendChild(document.createElement("dl"));
    for (const [name, value] of rows) {
        add(list, "dt", name);
        add(list, "dd", value);
    }
}

function statements(title: string, list: readonly Statement[]): void {
    add(main, "h2", title);
    const items = main.appendChild(document.createElement("ul"));
    for (const statement of list) add(items, "li", statement.text).dataset["statement"] = statement.id;
}

/** Returns an amount of Qa in ZIL, with at most 12 decimals. */
function zil(qa: bigint): string {
    const digits = String(qa).padStart(13, "0");
    return `${digits.slice(0, -12)}.${digits.slice(-12)}`.replace(/\.?0+$/, "");
}

function show(bundle: ProofBundle, result: Verification): void {
    const { account, variable, block } = result;
    if (variable !== null) {
        const name =
            bundle.field === undefined ? "" : bundle.field + (bundle.keys ?? []).map((key) => `[${key}]`).join("");
        section("Variable", [
            ...(name === "" ? [] : ([["Name", name]] as const)),
            ["Hash", variable.hash],
            ["Value", variable.value === null ? "no value" : JSON.stringify(variable.value.json, null, 2)],
        ]);
    }
    const contract = account?.contract ?? null;
    section("Account", [
        ["Address", `0x${result.address}`],
        ...(account === null
            ? ([["Account", "does not exist"]] as const)
            : ([
                  ["Balance", `${zil(account.balance)} ZIL (${account.balance} Qa)`],
                  ["Nonce", String(account.nonce)],
              ] as const)),
        ...(contract === null
            ? []
            : ([
                  ["Code hash", contract.codeHash],
                  ["Storage root", contract.storageRoot ?? "none"],
              ] as const)),
    ]);
    section("State", [
        ["State root", result.stateRoot],
        ...(block === null
            ? []
            : ([
                  ["Tx block", `${block.number}`],
                  ["Block hash", block.hash],
                  ["DS block", String(block.dsBlock)],
                  ["Time, not signed", new Date(Number(block.timestamp / 1000n) % 8.64e15).toISOString()],
              ] as const)),
    ]);
    statements("Verified", result.verified);
    statements("Assumed", result.assumed);
}

function finish(result: "valid" | "invalid", text: string): void {
    document.documentElement.dataset["result"] = result;
    status.textContent = visible(text);
}

try {
    const data = JSON.parse(document.getElementById("data")?.textContent ?? "") as {
        bundle: ProofBundle;
        trust: Trust;
    };
    const result = verify(data.bundle, data.trust);
    show(data.bundle, result);
    finish("valid", "✓ The proof is valid under the assumptions below.");
} catch (error) {
    finish("invalid", `✗ The proof is not valid. ${error instanceof Error ? error.message : String(error)}`);
}
