// Node.js 18 has its Web Crypto beside the globals, where browsers and Node.js 20 have it among them.
import { webcrypto } from "node:crypto";

if (globalThis.crypto?.subtle === undefined) Object.defineProperty(globalThis, "crypto", { value: webcrypto, configurable: true });
