"""The style sheet of the pages."""

from typing import Final

STYLE: Final = """\
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 1rem; }
nav a { margin-right: 1rem; }
section { border-top: 1px solid #8886; padding: .5rem 0 1rem; }
h2 { font-size: 1.1rem; margin: .5rem 0; }
h2, code { overflow-wrap: anywhere; }
p { margin: .25rem 0; }
.facts { opacity: .75; }
form { display: flex; flex-wrap: wrap; gap: .75rem; align-items: end; margin-top: .5rem; }
label { display: flex; flex-direction: column; font-size: .85rem; }
input, button { font: inherit; padding: .25rem .5rem; }
table { border-collapse: collapse; width: 100%; margin-top: .5rem; }
th, td { border: 1px solid #8886; padding: .25rem .5rem; text-align: left; vertical-align: top; }
td { overflow-wrap: anywhere; }
"""
