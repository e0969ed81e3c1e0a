"""The console's page. `build.py` builds `static/`, which the console serves, from `page/`."""
