# For login shells; PATH comes from /etc/profile.d/mayfly.sh.
if [ -n "$BASH_VERSION" ] && [ -f "$HOME/.bashrc" ]; then
  . "$HOME/.bashrc"
fi
