# Login shells see what commands run by the agent see.
export PATH=/home/sandbox/.venv/bin:/home/sandbox/.npm-global/bin:/home/sandbox/.local/bin:/usr/local/bin:/usr/bin:/bin
export VIRTUAL_ENV=/home/sandbox/.venv
export LANG=C.UTF-8
