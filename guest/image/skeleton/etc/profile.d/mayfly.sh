# The same environment as for commands that the agent runs.
export PATH=/home/sandbox/.venv/bin:/home/sandbox/.npm-global/bin:/home/sandbox/.local/bin:/usr/local/bin:/usr/bin:/bin
export VIRTUAL_ENV=/home/sandbox/.venv
export LANG=C.UTF-8
