// For pages that the server renders whole: only the frame around them works.

import "./shell.js";
