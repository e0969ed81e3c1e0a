// Preact and htm, bound together.
import htm from "htm";
import { h } from "preact";

export const html = htm.bind(h);
