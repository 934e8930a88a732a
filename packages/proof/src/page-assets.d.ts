// `build.mjs` writes the module `dist/page-assets.js` from `page-main.ts` and `page.css`.

/** The program of the page, with the verifier. */
export const script: string;
/** SHA-256 of the program in Base64. */
export const scriptHash: string;
/** The style sheet of the page. */
export const style: string;
/** SHA-256 of the style sheet in Base64. */
export const styleHash: string;
